// What the env said beside the observation: `info`, and the numbers of a finished episode.

import { clear, h, setText } from "../dom.js";
import { plain } from "../format.js";

/** Nested values as lines: {a: {b: 1}} → [["a.b", 1]]. */
export function flatten(info, prefix = "", depth = 0) {
  return Object.entries(info ?? {}).flatMap(([key, value]) => (
    value && typeof value === "object" && !Array.isArray(value) && depth < 4
      ? flatten(value, `${prefix}${key}.`, depth + 1)
      : [[prefix + key, value]]
  ));
}

export function mountInfo(element, store) {
  const { recording } = store;
  const list = h("dl", { class: "pairs" });
  const note = h("p", { class: "nothing small" }, "");
  element.append(list, note);
  const lines = new Map();
  const ofEpisode = Object.keys(recording.arrays).filter((name) => name.startsWith("episode_value/"));
  const show = (step) => {
    const found = flatten(recording.infos[step]);
    const before = new Map(step > 0 && recording.stepInEpisode(step) ? flatten(recording.infos[step - 1]) : []);
    if (recording.ended(step)) {
      for (const name of ofEpisode) found.push([name.replace("episode_value/", "episode: "), recording.number(name, step)]);
    }
    const keys = found.map(([key]) => key).join("\n");
    if (list.dataset.keys !== keys) {
      list.dataset.keys = keys;
      lines.clear();
      clear(list, found.map(([key]) => {
        const value = h("dd", { class: "number" });
        const line = h("div", {}, h("dt", { title: key }, key), value);
        lines.set(key, { value, line });
        return line;
      }));
    }
    for (const [key, value] of found) {
      const line = lines.get(key);
      setText(line.value, plain(value));
      line.line.classList.toggle("changed", before.has(key) && plain(before.get(key)) !== plain(value));
    }
    setText(note, found.length ? "" : "The env gave no info with this observation.");
    element.dataset.row = String(step);
  };
  show(store.step);
  return { brief: recording.infos.every((info) => !Object.keys(info ?? {}).length) && !ofEpisode.length, destroy: store.subscribe(show) };
}
