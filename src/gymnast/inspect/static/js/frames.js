// Pictures of a recording, decoded shortly before they are needed and dropped when they have not been for long.

const MOST_STRIDE = 8; // rows between two pictures while playing fast; a larger jump is a seek

export class FrameCache {
  /** `decode(index)` gives a promise of a picture (an ImageBitmap in the page). */
  constructor(count, decode, { ahead = 60, keep = 300, atOnce = 6 } = {}) {
    Object.assign(this, { count, decode, ahead, keep, atOnce });
    this.ready = new Map(); // the most recently used last
    this.waiting = new Set();
    this.wanted = [];
    this.given = -Infinity; // the row whose picture was handed out last
    this.stride = 1;
    this.onReady = () => {}; // a picture came that is nearer to the asked one than what was handed out
  }

  /**
   * `{row, picture}` if it is decoded; asks for it, and for those that will follow, in any case. Where pictures are
   * wanted faster than they can be decoded, one that was passed by shortly before is better than none.
   */
  get(index, direction = 1) {
    if (index < 0 || index >= this.count) return null;
    const jump = Math.abs(index - (this.shown ?? index)) || this.stride;
    this.stride = jump <= MOST_STRIDE ? jump : 1;
    if (jump > MOST_STRIDE || this.shown === undefined) {
      this.given = -Infinity;
      this.from = index;
    }
    this.shown = index;
    this.look(index, direction);
    for (let back = 0; back < Math.max(1, this.stride); back += 1) {
      const row = index - back * direction;
      if (back && !this.isNearer(row)) return null;
      const picture = this.peek(row);
      if (picture) return this.give(row, picture);
    }
    return null;
  }

  /** Whether a row lies on the way since the last seek, and nearer to the asked one than what was handed out. */
  isNearer(row) {
    const away = Math.abs(this.shown - row);
    return away < Math.abs(this.shown - this.given) && away <= Math.min(this.ahead, Math.abs(this.shown - this.from));
  }

  give(row, picture) {
    this.given = row;
    return { row, picture };
  }

  peek(index) {
    const picture = this.ready.get(index);
    if (!picture) return null;
    this.ready.delete(index); // to the end: used last
    this.ready.set(index, picture);
    return picture;
  }

  look(index, direction) {
    this.wanted = [];
    for (let step = 0; step <= this.ahead; step += 1) {
      const next = index + step * this.stride * direction;
      if (next < 0 || next >= this.count) break;
      if (!this.ready.has(next) && !this.waiting.has(next)) this.wanted.push(next);
    }
    this.pump();
  }

  pump() {
    while (this.waiting.size < this.atOnce && this.wanted.length) {
      const index = this.wanted.shift();
      this.waiting.add(index);
      this.decode(index).then((picture) => this.store(index, picture), () => this.store(index, null));
    }
  }

  store(index, picture) {
    this.waiting.delete(index);
    if (this.closed) return picture?.close?.();
    if (picture) {
      this.ready.set(index, picture);
      while (this.ready.size > this.keep) this.drop(this.ready.keys().next().value);
      if (index === this.shown || this.isNearer(index)) this.onReady(this.give(index, picture));
    }
    this.pump();
    return undefined;
  }

  drop(index) {
    this.ready.get(index)?.close?.();
    this.ready.delete(index);
  }

  close() {
    this.closed = true;
    this.wanted = [];
    for (const index of [...this.ready.keys()]) this.drop(index);
  }
}

/** A cache of a recording's rendered frames, as bitmaps. */
export function frameCache(frames) {
  return new FrameCache(frames.count, (index) => frames.bitmap(index));
}
