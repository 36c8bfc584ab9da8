// The components of the observation by name, within their bounds, and as the network reads them.

import { colour, fitCanvas, h, onResize, onTheme, setText } from "../dom.js";
import { number } from "../format.js";
import { range } from "../decimate.js";
import { imageForm } from "./pixels.js";

const MOST = 96; // as lines of text; longer vectors are a map of colours

export function mountObservation(element, store) {
  const { recording } = store;
  const parts = recording.parts("obs");
  const views = [];
  for (const [part, name] of parts) {
    const shape = recording.shape(name);
    const size = shape.reduce((product, n) => product * n, 1);
    if (parts.length > 1) element.append(h("h4", { class: "part" }, part));
    if (imageForm(shape)) {
      element.append(h("p", { class: "nothing small" }, `A picture of ${shape.join(" × ")}: see What the policy sees.`));
    } else if (size > MOST) views.push(heatPart(element, recording, name, size));
    else views.push(linesPart(element, recording, part, name, size));
  }
  if (!parts.length) element.append(h("p", { class: "nothing" }, recording.meta.left_out?.obs ? `Not sent: ${recording.meta.left_out.obs}.` : "The recording has no observations."));
  const show = (step) => {
    for (const view of views) view.show(step);
    element.dataset.row = String(step);
  };
  show(store.step);
  const leave = [store.subscribe(show), ...views.map((view) => view.destroy).filter(Boolean)];
  return { brief: !views.length, destroy() { leave.forEach((fn) => fn()); } };
}

/** Low and high of each component: those of its space where they are finite, otherwise what occurred. */
export function componentBounds(recording, name, part, size) {
  const declared = recording.meta.bounds_of?.[name] ?? (part ? null : recording.meta.bounds);
  const data = recording.arrays[name].data;
  const found = [];
  for (let index = 0; index < size; index += 1) {
    const column = Float64Array.from({ length: recording.rows }, (_, row) => data[row * size + index]);
    const seen = range([column]) ?? { low: 0, high: 1 };
    const low = declared?.low?.[index];
    const high = declared?.high?.[index];
    const known = Number.isFinite(low) && Number.isFinite(high) && high - low < 1e6;
    found.push({ low: known ? low : seen.low, high: known ? high : seen.high, known });
  }
  return found;
}

function linesPart(element, recording, part, name, size) {
  const names = recording.componentNames(name, size);
  const bounds = componentBounds(recording, name, part, size);
  const seenName = name.replace(/^obs/, "seen");
  const comparable = recording.arrays[seenName] && recording.shape(seenName).reduce((p, n) => p * n, 1) === size;
  const differs = comparable && recording.arrays[seenName].data.some((value, index) => Math.abs(value - recording.arrays[name].data[index]) > 1e-6);
  const seen = comparable && differs;
  const table = h("div", { class: `components${seen ? " with-seen" : ""}`, role: "table", "aria-label": "Components of the observation" });
  if (seen) table.append(h("div", { class: "component head", role: "row" }, h("span"), h("span"), h("span", {}, "env"), h("span", {}, "network")));
  const lines = bounds.map(({ low, high, known }, index) => {
    const fill = h("i");
    const value = h("span", { class: "number" });
    const read = h("span", { class: "number muted" });
    const label = names ? names[index] : size === 1 ? part || "observation" : `#${index}`;
    const title = known ? `bounds ${number(low)} to ${number(high)}` : `no bounds; in this recording ${number(low)} to ${number(high)}`;
    table.append(h("div", { class: "component", role: "row", title: `${label}: ${title}` },
      h("span", { class: "name" }, label), h("span", { class: `gauge${known ? "" : " open"}` }, fill), value, seen ? read : null));
    return { fill, value, read };
  });
  element.append(table);
  if (comparable && !differs) element.append(h("p", { class: "nothing small" }, "The network reads these numbers as they are."));
  else if (!comparable && recording.shape(seenName)) element.append(h("p", { class: "nothing small" }, `The network reads this as ${recording.shape(seenName).join(" × ")} numbers (one-hot).`));
  return {
    show(step) {
      const data = recording.row(name, step);
      const network = seen ? recording.row(seenName, step) : null;
      lines.forEach(({ fill, value, read }, index) => {
        const { low, high } = bounds[index];
        const share = high > low ? Math.max(0, Math.min(1, (data[index] - low) / (high - low))) : 0.5;
        fill.style.transform = `translateX(${(share * 100).toFixed(1)}%)`;
        setText(value, number(data[index]));
        if (network) setText(read, number(network[index]));
      });
    },
  };
}

function heatPart(element, recording, name, size) {
  const canvas = h("canvas", { class: "heat", role: "img", "aria-label": `${size} numbers as colours` });
  element.append(h("p", { class: "small muted" }, `${size} numbers, from smallest (dark) to largest (bright) of the recording:`), canvas);
  const bounds = range([recording.arrays[name].data]) ?? { low: 0, high: 1 };
  let shown = 0;
  const show = (step) => {
    shown = step;
    const data = recording.row(name, step);
    const width = canvas.clientWidth || 240;
    const across = Math.max(8, Math.min(size, Math.floor(width / Math.max(4, Math.sqrt((width * 120) / size)))));
    const cell = width / across;
    const context = fitCanvas(canvas, width, Math.ceil(size / across) * cell);
    canvas.style.height = `${Math.ceil(size / across) * cell}px`;
    for (let index = 0; index < size; index += 1) {
      const share = (data[index] - bounds.low) / (bounds.high - bounds.low || 1);
      context.globalAlpha = 0.06 + 0.94 * share;
      context.fillStyle = colour("series-1");
      context.fillRect((index % across) * cell, Math.floor(index / across) * cell, cell - 0.5, cell - 0.5);
    }
    context.globalAlpha = 1;
  };
  const leave = [onResize(element, () => show(shown)), onTheme(() => show(shown))];
  return { show, destroy() { leave.forEach((fn) => fn()); } };
}
