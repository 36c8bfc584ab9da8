// How many steps a second the game makes, over the last two seconds.

export class Rate {
  constructor(seconds = 2) {
    this.seconds = seconds;
    this.seen = [];
  }

  /** The rate at a time in seconds and a step; null while it is not known. It starts over with an episode. */
  add(time, step) {
    const last = this.seen.at(-1);
    if (last && step < last.step) this.seen = [];
    if (!last || step !== last.step) this.seen.push({ time, step });
    while (this.seen.length > 2 && time - this.seen[0].time > this.seconds) this.seen.shift();
    const [first, newest] = [this.seen[0], this.seen.at(-1)];
    return newest.time - first.time > 0.3 ? (newest.step - first.step) / (newest.time - first.time) : null;
  }
}
