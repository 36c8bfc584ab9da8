// The metrics of one run as they arrive: columns that grow. Pure.

export const AXES = {
  vector: ["time/vec_steps", "vectorised steps"], steps: ["time/env_steps", "env steps"], updates: ["time/updates", "updates"], time: ["time/seconds", "seconds"],
};

/** The curves that are shown first, of those that a run has. */
const FIRST = ["eval/return/mean", "train/return/mean", "train/length/mean", "train/explained_variance", "train/entropy",
  "train/kl", "train/clip_fraction", "train/loss/value", "opt/grad_norm", "time/fps"];

export class Series {
  constructor(id) {
    this.id = id;
    this.next = 0;
    this.columns = {};
    this.specs = {};
  }

  get rows() { return Math.max(0, ...Object.values(this.columns).map((column) => column.length)); }

  /** Add what is new. A run that was resumed earlier may begin again: then the answer replaces everything. */
  add({ columns, next, specs, reset }) {
    if (reset) this.columns = {};
    const before = this.rows;
    const more = Math.max(0, ...Object.values(columns).map((column) => column.length));
    for (const name of new Set([...Object.keys(this.columns), ...Object.keys(columns)])) {
      const own = (this.columns[name] ??= new Array(before).fill(null));
      const fresh = columns[name] ?? new Array(more).fill(null);
      for (const value of fresh) own.push(value);
    }
    Object.assign(this.specs, specs ?? {});
    this.next = next ?? this.next;
    return more;
  }

  /** `{x, y}` of a metric without its holes. */
  points(name, axis) {
    const [xs, ys] = [this.columns[AXES[axis][0]], this.columns[name]];
    const [x, y] = [[], []];
    if (!xs || !ys) return { x, y };
    for (let row = 0; row < ys.length; row += 1) {
      if (ys[row] === null || ys[row] === undefined || xs[row] === null) continue;
      x.push(xs[row]);
      y.push(ys[row]);
    }
    return { x, y };
  }

  /** Where an x axis stood at an env step, for alerts. */
  at(step, axis) {
    if (axis === "steps") return step;
    const [steps, places] = [this.columns[AXES.steps[0]] ?? [], this.columns[AXES[axis][0]] ?? []];
    const row = steps.findIndex((own) => own >= step);
    return row < 0 ? places.at(-1) ?? null : places[row];
  }
}

/** Metrics in groups: [["overview", names], ["eval", names], …]; only those that have a number. */
export function groups(all) {
  const names = [...new Set(all.flatMap((series) => Object.keys(series.columns)
    .filter((name) => series.columns[name].some((value) => value !== null && value !== undefined))))];
  const shown = names.filter((name) => name !== AXES.steps[0]);
  const found = new Map([["overview", FIRST.filter((name) => shown.includes(name))]]);
  for (const name of shown) {
    const group = name.split("/")[0];
    if (!found.has(group)) found.set(group, []);
    found.get(group).push(name);
  }
  return [...found].filter(([, own]) => own.length);
}
