// `key=value` lines, as on the command line, as data. Pure.

/** {key: value} of lines; numbers, booleans, null and JSON are read as such. Throws an Error, in words. */
export function parseOverrides(text) {
  const found = {};
  for (const line of text.split("\n").map((one) => one.trim()).filter((one) => one && !one.startsWith("#"))) {
    const cut = line.indexOf("=");
    if (cut < 1) throw new Error(`“${line}” is not of the form key=value, for example env.kwargs.gravity=5`);
    const key = line.slice(0, cut).trim();
    if (!/^[\w./-]+$/.test(key)) throw new Error(`“${key}” is not the name of a setting.`);
    found[key] = parseValue(line.slice(cut + 1).trim());
  }
  return found;
}

export function parseValue(text) {
  if (text === "") return "";
  try { return JSON.parse(text); } catch { return text; }
}
