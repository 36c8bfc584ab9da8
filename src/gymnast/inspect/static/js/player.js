// Playing: which step belongs to which moment. Time comes from requestAnimationFrame, so that a slow machine skips
// steps instead of falling behind.

export const SPEEDS = [1, 5, 15, 30, 60, 120, 240];

export class Player {
  constructor({ move, atEnd, schedule = (tick) => window.requestAnimationFrame(tick) }) {
    Object.assign(this, { move, atEnd, schedule });
    this.speed = 30;
    this.playing = false;
    this.onChange = () => {};
    this.frames = 0; // animation frames while playing, for the measured rate
    this.rate = 0;
  }

  toggle() { return this.playing ? this.pause() : this.play(); }

  play() {
    if (this.playing) return;
    this.playing = true;
    this.last = null;
    this.owed = 0;
    this.ticks = [];
    this.onChange();
    this.schedule((time) => this.tick(time));
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.onChange();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.onChange();
  }

  tick(time) {
    if (!this.playing) return;
    this.measure(time);
    if (this.last !== null) this.owed += ((time - this.last) / 1000) * this.speed;
    this.last = time;
    const due = Math.min(Math.floor(this.owed), Math.ceil(this.speed / 4)); // a tab that slept does not leap
    if (due > 0) {
      this.owed = Math.min(this.owed - due, 1);
      if (this.move(due) === false) this.pause(); // a breakpoint
      else if (this.atEnd()) this.pause();
    }
    if (this.playing) this.schedule((next) => this.tick(next));
  }

  /** Animation frames per second over the last second. */
  measure(time) {
    this.ticks.push(time);
    while (this.ticks.length > 2 && time - this.ticks[0] > 1000) this.ticks.shift();
    const span = time - this.ticks[0];
    this.rate = span > 0 ? ((this.ticks.length - 1) * 1000) / span : 0;
  }
}
