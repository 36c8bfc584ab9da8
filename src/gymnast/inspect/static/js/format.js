// Numbers as people read them.

/** At most four significant digits, a real minus sign, no exponent where none is needed. */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === Infinity) return "∞";
  if (value === -Infinity) return "−∞";
  const size = Math.abs(value);
  let text;
  if (value === 0) text = "0";
  else if (Number.isInteger(value) && size < 1e7) text = integer(value);
  else if (size >= 1e7 || size < 1e-4) text = value.toExponential(2).replace("e+", "e");
  else if (size >= 1000) text = value.toFixed(1);
  else if (size >= 100) text = value.toFixed(2);
  else if (size >= 1) text = value.toFixed(3);
  else text = value.toFixed(4);
  return text.replace("-", "−");
}

/** With thin spaces between thousands. */
export function integer(value) {
  if (value === null || value === undefined) return "–";
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009").replace("-", "−");
}

export function compact(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)} G`;
  if (size >= 1e6) return `${trim(value / 1e6)} M`;
  if (size >= 1e4) return `${trim(value / 1e3)} k`;
  return integer(value);
}

function trim(value) { return value.toFixed(value < 10 ? 2 : 1).replace(/\.?0+$/, ""); }

export function percent(value) {
  if (!Number.isFinite(value)) return "–";
  const share = value * 100;
  return `${share >= 99.95 || share === 0 ? share.toFixed(0) : share.toFixed(1)} %`;
}

/** A number without zeros that say nothing: for figures that stand alone. */
export function short(value) { return number(value).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""); }

/** A score as tables of runs have it: two decimals, more only where there would be nothing else. */
export function score(value) {
  if (!Number.isFinite(value)) return number(value);
  if (value !== 0 && Math.abs(value) < 0.01) return short(value);
  const [whole, decimals] = Math.abs(value).toFixed(2).split(".");
  return `${value < 0 ? "−" : ""}${integer(Number(whole))}.${decimals}`;
}

/** "3 min ago" for a time in ISO form or seconds. */
export function ago(time, now = Date.now()) {
  const then = typeof time === "number" ? time * 1000 : Date.parse(time);
  if (!Number.isFinite(then)) return "";
  const seconds = Math.max(0, (now - then) / 1000);
  for (const [unit, size] of [["day", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= size) {
      const count = Math.floor(seconds / size);
      return `${count} ${unit}${unit === "day" && count > 1 ? "s" : ""} ago`;
    }
  }
  return "just now";
}

/** Who chose a recording's actions, and how. */
export function chosenBy(player, sampled) {
  const others = { human: "played by a person", random: "random actions", mixed: "played in turns" };
  return others[player] ?? (sampled ? "sampled" : "greedy");
}

/** An error of the server as a sentence. */
export function sentence(text) {
  const whole = String(text).trim();
  const ended = /[.!?…:]$/.test(whole) || whole.includes("\n") ? whole : `${whole}.`;
  return /^[a-z][a-z]* /.test(ended) ? ended[0].toUpperCase() + ended.slice(1) : ended; // not names such as env.kwargs
}

/** A value of an info or a setting as one line of text. */
export function plain(value) {
  if (typeof value === "number") return number(value);
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "–";
  return JSON.stringify(value);
}
