// Which keys are down, from the browser's events. No browser is needed to test it.

/** Keeps the codes of the keys that are down, oldest first, among those that mean something. */
export class HeldKeys {
  constructor(codes) {
    this.wanted = new Set(codes);
    this.down = [];
  }

  /** True if the set changed. A key that repeats is down already. */
  press(code) {
    if (!this.wanted.has(code) || this.down.includes(code)) return false;
    this.down.push(code);
    return true;
  }

  release(code) {
    const before = this.down.length;
    this.down = this.down.filter((held) => held !== code);
    return this.down.length !== before;
  }

  clear() {
    const held = this.down.length > 0;
    this.down = [];
    return held;
  }
}

/** What a key event means: {command}, {key} or null; `typing` is whether a text field has it. */
export function meaning(event, controls, gameCodes, typing) {
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return null;
  if (gameCodes.has(event.code)) return { key: event.code };
  for (const [command, { code }] of Object.entries(controls)) {
    if (code === event.code) return { command };
  }
  return null;
}
