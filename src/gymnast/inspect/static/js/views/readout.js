// The shown step in one line of figures.

import { h, setText } from "../dom.js";
import { number, percent } from "../format.js";

export function mountReadout(element, store) {
  const { recording } = store;
  const tiles = {};
  const hasShare = recording.has("probability"); // real numbers have a density, which is not a share
  const tile = (key, title, extra = "") => {
    tiles[key] = h("strong", { class: `number ${extra}`, dataset: { figure: key } }, "–");
    return h("div", { class: `figure figure-${key}` }, h("span", {}, title), tiles[key]);
  };
  element.append(
    tile("place", "episode · step"), tile("action", "action"), tile("probability", hasShare ? "probability" : "log-probability"), tile("reward", "reward"),
    tile("total", "return so far"), tile("value", "value"), tile("togo", "return to go"), tile("advantage", "advantage"),
  );
  const show = (step) => {
    const line = recording.stepOfRow[step];
    const cell = (name) => (line < 0 ? NaN : recording.cell(name, line));
    setText(tiles.place, `${recording.episodeOf(step)} · ${recording.stepInEpisode(step)}`);
    const before = step > 0 ? recording.ended(step - 1) : "";
    setText(tiles.action, line < 0 ? `ended: ${before || "over"}` : recording.label(step));
    tiles.action.title = tiles.action.textContent;
    setText(tiles.probability, hasShare ? percent(cell("probability")) : number(cell("log_prob")));
    setText(tiles.reward, number(cell("reward")));
    setText(tiles.total, number(line < 0 && step > 0 ? recording.cell("return_so_far", recording.stepOfRow[step - 1]) : cell("return_so_far")));
    setText(tiles.value, number(recording.number("value", step)));
    setText(tiles.togo, number(cell("return_to_go")));
    setText(tiles.advantage, number(cell("advantage")));
    element.dataset.row = String(step);
  };
  show(store.step);
  return { destroy: store.subscribe(show) };
}
