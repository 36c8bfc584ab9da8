// What the policy sees: each stacked frame with the action that led to it.

import { h, setText } from "../dom.js";
import { number } from "../format.js";
import { imageForm, toRgba } from "./pixels.js";

const MOST = 24; // components of stacked observations that are listed

/** The parts of an observation that are pictures: [[part, column, form]]. */
export function imageParts(recording) {
  return recording.parts("obs").map(([part, name]) => [part, name, imageForm(recording.shape(name))])
    .filter(([, , form]) => form);
}

export function mountSeen(element, store) {
  const { recording } = store;
  const images = imageParts(recording);
  const { frame_stack: stacked = 1, observation_stack: inside = 1 } = recording.meta;
  const vector = stacked > 1 && !images.length && recording.parts("obs").length === 1 ? recording.shape("obs") : null;
  const size = vector?.reduce((product, n) => product * n, 1) ?? 0;
  if (size > 0 && size <= MOST) return stackedNumbers(element, store, size);
  if (!images.length) {
    const left = recording.meta.left_out?.obs;
    element.append(h("p", { class: "nothing" }, left ? `The observations were not sent: ${left}.` : stacked > 1
      ? `The policy sees the numbers of the last ${stacked} observations at once; the newest are listed under Observation.`
      : "This policy sees no picture: it reads the numbers that are listed under Observation."));
    return { brief: true, destroy() {} };
  }
  const cells = [];
  const count = stacked * inside;
  const list = h("div", { class: "seen-frames", role: "list", dataset: count * images.length <= 4 ? { few: "" } : {} });
  for (let index = 0; index < count; index += 1) {
    const canvases = images.map(([part, , form]) => {
      const canvas = h("canvas", { width: form.width, height: form.height, class: "pixel", "aria-label": part || "frame" });
      return canvas;
    });
    const caption = h("figcaption", {}, "");
    const age = count - 1 - index;
    list.append(h("figure", { role: "listitem", title: age ? `${age} ${age === 1 ? "frame" : "frames"} before the newest` : "the newest frame" }, ...canvases, caption));
    cells.push({ canvases, caption });
  }
  element.append(list);
  const layered = images.find(([, name, form]) => form.channels > 3 && inside === 1 || form.channels === 2);
  const control = layered ? h("span", { class: "small muted" }, `${layered[2].channels} layers, a colour each`) : null;

  const show = (step) => {
    const stack = recording.stack(step);
    cells.forEach(({ canvases, caption }, index) => {
      const { row, action } = stack[index];
      const blank = row < 0;
      images.forEach(([, name, form], at) => {
        canvases[at].classList.toggle("blank", blank);
        if (blank) return;
        const bytes = recording.arrays[name].data instanceof Uint8Array;
        // Of frames inside one observation the row's newest is the last channel; the others belong to earlier rows.
        const options = { bytes, channel: inside > 1 && form.channels === inside ? inside - 1 : null };
        const rgba = toRgba(recording.row(name, row), form, options);
        canvases[at].getContext("2d").putImageData(new ImageData(rgba, form.width, form.height), 0, 0);
      });
      setText(caption, blank ? "no frame yet" : action === null ? "first" : `after ${action}`);
    });
    element.dataset.row = String(step);
  };
  show(store.step);
  return { control, destroy: store.subscribe(show) };
}

/** Numbers that are stacked: a line for each component, a column for each of the observations seen at once. */
function stackedNumbers(element, store, size) {
  const { recording } = store;
  const names = recording.componentNames("obs", size);
  const count = recording.stack(0).length;
  const heads = Array.from({ length: count }, () => h("th", { scope: "col" }));
  const lines = Array.from({ length: size }, () => Array.from({ length: count }, () => h("td", { class: "number" })));
  element.append(h("table", { class: "stacked" }, h("thead", {}, h("tr", {}, h("th"), heads)),
    h("tbody", {}, lines.map((cells, index) => h("tr", {}, h("th", { scope: "row" }, names ? names[index] : `#${index}`), cells)))));
  const show = (step) => {
    recording.stack(step).forEach(({ row, action }, place) => {
      setText(heads[place], row < 0 ? "none yet" : action === null ? "first" : `after ${action}`);
      heads[place].title = heads[place].textContent;
      const data = row < 0 ? null : recording.row("obs", row);
      lines.forEach((cells, index) => setText(cells[place], data ? number(data[index]) : "–"));
    });
    element.dataset.row = String(step);
  };
  show(store.step);
  return { destroy: store.subscribe(show) };
}
