// A decoded recording as the views read it. Everything is by row: one row is one observation, so an episode of L
// steps has L + 1 rows, and its last row has no decision. Columns of the table have one value per decision.

export class Recording {
  constructor(id, decoded, summary = {}) {
    this.id = id;
    this.summary = summary;
    this.meta = decoded.meta;
    this.arrays = decoded.arrays;
    this.texts = decoded.texts;
    this.infos = decoded.infos;
    this.frames = decoded.frames;
    this.rows = decoded.meta.rows ?? decoded.arrays.step?.shape[0] ?? 0;
    this.rowOfStep = decoded.arrays.row_of_step?.data ?? new Int32Array(0);
    this.stepOfRow = new Int32Array(this.rows).fill(-1);
    this.rowOfStep.forEach((row, step) => { this.stepOfRow[row] = step; });
    this.byRow = new Map();
    this.partNames = new Map();
  }

  /** The names of the table's columns, in the order that they came. */
  get columns() {
    this.names ??= this.meta.table ?? [
      ...Object.keys(this.arrays), ...Object.keys(this.texts),
    ].filter((name) => name.startsWith("table/")).map((name) => name.slice(6));
    return this.names;
  }

  get steps() { return this.rowOfStep.length; }

  isText(name) { return `table/${name}` in this.texts; }

  has(name) { return this.isText(name) || `table/${name}` in this.arrays; }

  /** The value in one line of the table: a number, a text, or undefined. */
  cell(name, step) {
    const text = this.texts[`table/${name}`];
    return text ? text[step] : this.arrays[`table/${name}`]?.data[step];
  }

  /** A column of numbers by row, NaN where nothing was decided. */
  column(name) {
    if (this.byRow.has(name)) return this.byRow.get(name);
    const source = this.arrays[`table/${name}`]?.data;
    let column = null;
    if (source) {
      column = new Float64Array(this.rows).fill(NaN);
      this.rowOfStep.forEach((row, step) => { column[row] = source[step]; });
    }
    this.byRow.set(name, column);
    return column;
  }

  /** A number of the trace itself at a row: value and the like also exist in an episode's last row. */
  number(name, row) { return this.arrays[name]?.data[row]; }

  /** One row of an array, as a view. */
  row(name, row) {
    const array = this.arrays[this.meta.same?.[name] && !this.arrays[name] ? this.meta.same[name] : name];
    if (!array) return null;
    const size = array.shape.slice(1).reduce((product, n) => product * n, 1);
    return array.data.subarray(row * size, (row + 1) * size);
  }

  shape(name) {
    return this.arrays[this.meta.same?.[name] && !this.arrays[name] ? this.meta.same[name] : name]?.shape.slice(1) ?? null;
  }

  /** The parts of `obs` or `seen`: [["", "obs"]], or one for each entry of a dict. */
  parts(prefix) {
    const all = new Set([...Object.keys(this.arrays), ...Object.keys(this.meta.same ?? {})]);
    // Files keep arrays in no order; the parts of an observation are in the same one each time.
    const names = [...all].filter((name) => name === prefix || name.startsWith(`${prefix}/`)).sort();
    return names.map((name) => [name === prefix ? "" : name.slice(prefix.length + 1), name]);
  }

  episodeOf(row) { return this.arrays.episode?.data[row] ?? 0; }
  stepInEpisode(row) { return this.arrays.step?.data[row] ?? row; }
  isLast(row) { return this.stepOfRow[row] < 0; }

  /** The action taken at a row, in words. */
  label(row) {
    const step = this.stepOfRow[row];
    return step < 0 ? "" : this.texts["table/label"]?.[step] ?? this.texts.labels?.[row] ?? "";
  }

  /** How an episode ended with this row's action: "terminated", "truncated", "cut", or "". */
  ended(row) {
    for (const how of ["terminated", "truncated", "cut"]) if (this.number(how, row)) return how;
    return "";
  }

  /** The frames that the policy saw at once, oldest first: `{row, action}`; row -1 where there was none yet. */
  stack(row) {
    const index = this.arrays["stack/index"];
    if (!index) return [{ row, action: this.stepInEpisode(row) ? this.label(row - 1) : null }];
    const size = index.shape[1];
    return Array.from({ length: size }, (_, place) => {
      const at = row * size + place;
      return { row: index.data[at], action: this.texts["stack/action"]?.[at] || null };
    });
  }

  /**
   * Names of the components of an observation's parts, which the trace does not have: those of a setting that is called
   * like the part and lists as many, such as `env.doom.variables: [AMMO2, HEALTH]` for the part `variables`.
   */
  namePartsBy(settings = {}) {
    for (const [part, name] of this.parts("obs")) {
      if (!part) continue;
      const size = this.shape(name).reduce((product, n) => product * n, 1);
      const found = Object.entries(settings).find(([key, value]) => key.startsWith("env.") && key.endsWith(`.${part}`)
        && Array.isArray(value) && value.length === size && value.every((one) => typeof one === "string"));
      if (found) this.partNames.set(name, found[1]);
    }
  }

  /** The names of an array's components, or null. */
  componentNames(name, size) {
    const names = name === "obs" ? this.meta.observation_names ?? [] : this.partNames.get(name) ?? [];
    return names.length === size ? names : null;
  }

  /** Columns of the table that begin with `prefix/`, without it. */
  under(prefix) {
    return this.columns.filter((name) => name.startsWith(`${prefix}/`)).map((name) => name.slice(prefix.length + 1));
  }
}
