// The rendered frame of the shown row.

import { fitCanvas, h, onResize } from "../dom.js";
import { frameCache } from "../frames.js";

export function mountFrame(element, store) {
  const { recording } = store;
  const { frames } = recording;
  if (!frames?.count) {
    element.append(h("p", { class: "nothing" }, whyNone(recording)));
    return { destroy() {} };
  }
  const canvas = h("canvas", { class: "frame-canvas", role: "img", "aria-label": "Rendered frame" });
  element.append(canvas);
  const cache = frameCache(frames);
  let last = store.step;
  let [width, height] = [0, 0]; // measured when they change: asking at every step would lay the page out again
  let direction = 1;

  const draw = ({ row, picture }) => {
    if (!width) [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const context = fitCanvas(canvas, width, height);
    context.clearRect(0, 0, width, height);
    const scale = Math.min(width / picture.width, height / picture.height);
    const [w, hgt] = [picture.width * scale, picture.height * scale];
    context.imageSmoothingEnabled = scale < 1 || picture.width > 320;
    context.imageSmoothingQuality = "medium";
    context.drawImage(picture, (width - w) / 2, (height - hgt) / 2, w, hgt);
    canvas.dataset.row = String(row);
  };
  const show = (step) => {
    if (step !== last) direction = step < last ? -1 : 1;
    last = step;
    const found = cache.get(Math.min(step, frames.count - 1), direction);
    if (found) draw(found); // until it is decoded the one before stays: no flicker
  };
  cache.onReady = draw;
  show(store.step);
  const leave = [store.subscribe(show), onResize(element, () => { width = 0; show(store.step); })];
  return { destroy() { leave.forEach((fn) => fn()); cache.close(); } };
}

export function whyNone({ meta }) {
  if (meta.cut?.includes("frames")) {
    return "The frames were dropped: with them the recording would be larger than its limit. Record fewer steps to see them.";
  }
  return `There are no frames${meta.reason_no_frames ? `: ${meta.reason_no_frames}` : ""}. The other views show what happened.`;
}
