// Questions to the server: each is asked once and its answer kept, and of those about a step only the last is asked.

const MOST_KEPT = 160;
const WAIT = 110; // ms that the step must rest before something is computed for it

export class Questions {
  /** `ask(question)` gives a promise of the answer. */
  constructor(ask, { wait = WAIT, most = MOST_KEPT } = {}) {
    this.ask = ask;
    this.wait = wait;
    this.most = most;
    this.kept = new Map();
    this.latest = new Map(); // topic → {timer, key}
    this.ended = false;
  }

  /** The answer, from the server or from before. A failure is not kept. */
  get(question) {
    const key = JSON.stringify(question);
    if (this.kept.has(key)) {
      const known = this.kept.get(key);
      this.kept.delete(key);
      this.kept.set(key, known);
      return known;
    }
    const asked = this.ask(question);
    this.kept.set(key, asked);
    asked.catch(() => this.kept.delete(key));
    while (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value);
    return asked;
  }

  has(question) { return this.kept.has(JSON.stringify(question)); }

  /**
   * Ask when nothing else was asked about the same topic for a while, and hand over the answer (or the error) unless
   * something else was asked since. What is known already is handed over at once.
   */
  soon(topic, question, onAnswer, onError = () => {}) {
    const key = JSON.stringify(question);
    const before = this.latest.get(topic);
    if (before?.key === key && before.pending) return;
    clearTimeout(before?.timer);
    const mine = { key, pending: true, timer: null };
    this.latest.set(topic, mine);
    const run = async () => {
      try {
        const answer = await this.get(question);
        if (this.isLatest(topic, mine)) onAnswer(answer);
      } catch (error) {
        if (this.isLatest(topic, mine)) onError(error);
      } finally {
        mine.pending = false;
      }
    };
    if (this.has(question)) run();
    else mine.timer = setTimeout(run, this.wait);
  }

  isLatest(topic, mine) { return !this.ended && this.latest.get(topic) === mine; }

  /** Nothing is wanted any more about this topic. */
  drop(topic) {
    clearTimeout(this.latest.get(topic)?.timer);
    this.latest.delete(topic);
  }

  end() {
    this.ended = true;
    for (const topic of [...this.latest.keys()]) this.drop(topic);
    this.kept.clear();
  }
}
