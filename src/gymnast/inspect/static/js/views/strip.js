// One strip of curves over the steps, with a cursor. The curves are drawn once; stepping only moves the cursor.

import { colour, fitCanvas, h, onResize, onTheme, setText } from "../dom.js";
import { minMax, padded, range } from "../decimate.js";
import { number } from "../format.js";

const PAD = { top: 6, bottom: 5 };

/**
 * `series`: [{name, values (by row), colour, kind: "line" | "bars"}]. A click, or a drag, moves the store's step.
 */
export function mountStrip(element, store, { title, series, help }) {
  const canvas = h("canvas", { class: "strip-canvas", "aria-hidden": "true" });
  const cursor = h("i", { class: "cursor" });
  const area = h("div", { class: "strip-area" }, canvas, cursor);
  const top = h("span", { class: "strip-scale high number" });
  const bottom = h("span", { class: "strip-scale low number" });
  const legend = series.map(({ name, colour: own }) => {
    const value = h("span", { class: "number" });
    const mark = h("i", { class: "swatch" });
    mark.style.background = `var(--${own})`;
    return { value, item: h("span", { class: "legend-item", title: name }, mark, h("span", { class: "legend-name" }, name), value) };
  });
  element.append(h("div", { class: "strip", title: help ?? null },
    h("div", { class: "strip-head" }, h("h4", {}, title), h("div", { class: "legend" }, legend.map(({ item }) => item))),
    h("div", { class: "strip-body" }, area, top, bottom)));
  const withZero = series.some(({ kind }) => kind === "bars") ? [[0]] : []; // bars stand on it
  const found = range([...series.map(({ values }) => values), ...withZero]);
  const bounds = padded(found);
  setText(top, found ? number(found.high) : "");
  setText(bottom, found && found.low < found.high ? number(found.low) : "");
  top.classList.toggle("middle", Boolean(found) && found.low === found.high); // where the only line is
  let width = 0;

  const x = (row) => ((row + 0.5) / store.rows) * width;
  const draw = () => {
    width = area.clientWidth;
    const height = area.clientHeight;
    if (!width || !height) return;
    const context = fitCanvas(canvas, width, height);
    context.clearRect(0, 0, width, height);
    const y = (value) => PAD.top + ((bounds.high - value) / (bounds.high - bounds.low)) * (height - PAD.top - PAD.bottom);
    context.fillStyle = colour("line");
    for (const { first } of store.recording.meta.episodes ?? []) {
      if (first > 0) context.fillRect(Math.round((first / store.rows) * width), 0, 1, height);
    }
    if (bounds.low < 0 && bounds.high > 0) context.fillRect(0, Math.round(y(0)), width, 1);
    for (const one of series) (one.kind === "bars" ? drawBars : drawLine)(context, one, { width, y, x, rows: store.rows });
    place(store.step);
  };
  const place = (step) => {
    cursor.style.transform = `translateX(${x(step).toFixed(1)}px)`;
    series.forEach(({ values }, index) => setText(legend[index].value, number(values[step])));
  };
  const seek = (event) => {
    const box = area.getBoundingClientRect();
    store.setStep(Math.floor(((event.clientX - box.left) / box.width) * store.rows));
  };
  area.addEventListener("pointerdown", (event) => {
    area.setPointerCapture(event.pointerId);
    seek(event);
    area.addEventListener("pointermove", seek);
    area.addEventListener("pointerup", () => area.removeEventListener("pointermove", seek), { once: true });
  });
  draw();
  const leave = [store.subscribe(place), onResize(area, draw), onTheme(draw)];
  return { destroy() { leave.forEach((fn) => fn()); } };
}

function drawLine(context, { values, colour: own }, { width, y, x, rows }) {
  context.strokeStyle = colour(own);
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.beginPath();
  let open = false;
  if (rows <= width * 1.5) {
    for (let row = 0; row < rows; row += 1) {
      if (!Number.isFinite(values[row])) { open = false; continue; }
      if (open) context.lineTo(x(row), y(values[row]));
      else context.moveTo(x(row), y(values[row]));
      open = true;
    }
  } else {
    const { low, high, first } = minMax(values, Math.floor(width));
    for (let pixel = 0; pixel < low.length; pixel += 1) {
      if (Number.isNaN(first[pixel])) { open = false; continue; }
      if (open) context.lineTo(pixel, y(first[pixel]));
      else context.moveTo(pixel, y(first[pixel]));
      context.lineTo(pixel, y(high[pixel]));
      context.lineTo(pixel, y(low[pixel]));
      open = true;
    }
  }
  context.stroke();
}

function drawBars(context, { values, colour: own, negative }, { width, y, rows }) {
  const count = Math.min(rows, Math.floor(width));
  const { low, high } = minMax(values, count);
  const gap = width / count > 4 ? 1 : 0;
  const zero = y(0);
  for (let bucket = 0; bucket < count; bucket += 1) {
    // From pixel to pixel: edges between them would leave a lighter line between every two bars.
    const left = Math.round((bucket * width) / count);
    const size = Math.max(1, Math.round(((bucket + 1) * width) / count) - left - gap);
    context.fillStyle = colour(own);
    if (high[bucket] > 0) context.fillRect(left, y(high[bucket]), size, zero - y(high[bucket]));
    if (negative) context.fillStyle = colour(negative);
    if (low[bucket] < 0) context.fillRect(left, zero, size, y(low[bucket]) - zero);
  }
}
