// One number that every view follows: the row of the recording that is shown.

export class StepStore {
  constructor(recording) {
    this.recording = recording;
    this.step = 0;
    this.listeners = new Set();
  }

  get rows() { return this.recording.rows; }

  /** Show another row; beyond either end it stays there. Returns whether anything changed. */
  setStep(step) {
    const wanted = Math.max(0, Math.min(this.rows - 1, Math.round(step) || 0));
    if (wanted === this.step) return false;
    this.step = wanted;
    this.notify();
    return true;
  }

  move(by) { return this.setStep(this.step + by); }

  notify() { for (const listener of [...this.listeners]) listener(this.step); }

  /** Call `listener(step)` on every change; returns what ends that. */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** Several recordings that step together, by their row, or each alone. */
export class StepGroup {
  constructor() {
    this.stores = [];
    this.active = null; // the one that keys and the transport move
    this.together = true;
    this.listeners = new Set();
    this.leaving = new Map();
  }

  add(store) {
    this.stores.push(store);
    this.leaving.set(store, store.subscribe((step) => this.follow(store, step)));
    if (this.together && this.active) store.setStep(this.active.step);
    this.active = store;
    this.notify();
  }

  remove(store) {
    this.leaving.get(store)?.();
    this.leaving.delete(store);
    this.stores = this.stores.filter((one) => one !== store);
    if (this.active === store) this.active = this.stores.at(-1) ?? null;
    this.notify();
  }

  /** Put a recording in another's place (the same one with another discount) at the same step. */
  replace(old, store) {
    const at = this.stores.indexOf(old);
    this.leaving.get(old)?.();
    this.leaving.delete(old);
    store.step = Math.min(old.step, store.rows - 1);
    this.stores[at] = store;
    this.leaving.set(store, store.subscribe((step) => this.follow(store, step)));
    if (this.active === old) this.active = store;
    this.notify();
  }

  activate(store) {
    if (this.active === store) return;
    this.active = store;
    this.notify();
  }

  setTogether(together) {
    this.together = together;
    if (together && this.active) this.follow(this.active, this.active.step);
    this.notify();
  }

  follow(source, step) {
    if (this.following) return; // set by the loop below
    this.following = true;
    if (this.together) for (const store of this.stores) if (store !== source) store.setStep(step);
    this.following = false;
    for (const listener of [...this.listeners]) listener(this);
  }

  notify() { for (const listener of [...this.listeners]) listener(this); }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
