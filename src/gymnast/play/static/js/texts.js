// Numbers and words that the page shows. Pure: tests call them without a page.

/** In as many places as can be read in passing. */
export function shortNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const sign = value < 0 ? "−" : ""; // and none for -0
  if (size >= 10_000) return sign + Math.round(size).toLocaleString("en-US");
  if (Number.isInteger(size)) return sign + size.toLocaleString("en-US");
  return sign + (size >= 100 ? size.toFixed(1) : size >= 0.01 ? size.toFixed(2) : size.toExponential(1).replace("-", "−"));
}

/** The seed in a field: a number, null for the same again, undefined if it is not one. */
export function readSeed(text) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return /^\d{1,10}$/.test(trimmed) && Number(trimmed) < 2 ** 31 ? Number(trimmed) : undefined;
}

/** What is laid over the picture: {text, hint}, or null if the game runs. */
export function veilOf(moment, controls, versus = false) {
  const pause = controls.pause?.key ?? "Esc";
  if (moment.ended) return { text: "The end", hint: `${moment.ended}; this page can be closed` };
  if (moment.paused) {
    if (moment.paused === "paused") return { text: "Paused", hint: `${pause} continues` };
    const human = moment.driver === "human" || versus;
    if (moment.paused.startsWith("press a key")) return { text: capital(moment.paused), hint: "" };
    return { text: capital(moment.paused), hint: human ? "a key of the game continues" : `${pause} continues` };
  }
  if (moment.over) {
    return { text: moment.over === "truncated" ? "Time is up" : "Episode over", hint: `return ${shortNumber(moment.return)}` };
  }
  if (moment.waiting && moment.step === 0) return { text: capital(moment.waiting), hint: "" };
  return null;
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Rows of the reward's ledger: name, now, sum over the episode, share of all that was paid. */
export function ledger(parts, sums, names = Object.keys(sums)) {
  const all = Object.values(sums).reduce((total, value) => total + Math.abs(value), 0);
  return names.map((name) => ({
    name,
    now: parts[name] ?? 0,
    sum: sums[name] ?? 0,
    share: all > 0 ? Math.abs(sums[name] ?? 0) / all : 0,
  }));
}

/** Bars for the choices: at most `most`, the likeliest kept, in their order. */
export function choiceRows(about, moment, most = 18) {
  const rows = (moment.probabilities ?? []).map((probability, index) => ({
    index,
    label: about.choices[index] ?? `choice ${index}`,
    probability: probability ?? 0,
    masked: (moment.mask ?? []).length > 0 && !moment.mask[index],
  }));
  if (rows.length <= most) return rows;
  const least = rows.map((row) => row.probability).sort((a, b) => b - a)[most - 1];
  return rows.filter((row) => row.probability >= least).slice(0, most);
}

/**
 * What a policy would do with real numbers: `{label, text, from, to, at}`, the band of one standard deviation around
 * the mean and the number itself as shares of the range that the env takes.
 */
export function numberRows(about, moment) {
  return about.numbers.map((label, index) => {
    const [mean, std] = [moment.mean?.[index], moment.std?.[index]];
    if (mean === undefined || mean === null) return { label, text: "–", from: 0, to: 0, at: null };
    const [low, high] = about.ranges?.[index] ?? [-1, 1];
    const place = (value) => Math.max(0, Math.min(1, (value - low) / (high - low || 1)));
    const would = moment.would?.[about.factors?.indexOf(label) ?? index] ?? mean;
    return { label, text: `${shortNumber(mean)} ± ${shortNumber(std)}`, from: place(mean - std), to: place(mean + std), at: place(would) };
  });
}

/** A label in the pieces between which it may be broken: after +, _ and /. */
export const pieces = (label) => label.split(/(?<=[+_/])/);

/** Who drove an episode, in words: "policy 120, you 40". */
export function driversText(drivers) {
  const names = Object.entries(drivers);
  if (names.length < 2) return names.map(([name]) => (name === "human" ? "you" : name)).join("");
  return names.map(([name, steps]) => `${name === "human" ? "you" : name} ${steps}`).join(", ");
}

/** How the keys are meant. */
export function keysNote({ turn_based: turns, neutral, combines }) {
  if (turns) return "Every step waits for a key.";
  if (!neutral) return "Without a key the last action is repeated.";
  return combines ? "Keys may be held together." : "The key that was pressed last counts.";
}
