// Pictures of arrays on canvases.

import { colour, fitCanvas, h } from "../dom.js";
import { gridFor, rgb } from "./network_maths.js";

/** A canvas with these pixels, one for one. */
export function pixels(rgba, width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").putImageData(new ImageData(rgba, width, height), 0, 0);
  return canvas;
}

export const palette = () => ({
  zero: rgb(colour("panel")), positive: rgb(colour("series-2")), negative: rgb(colour("series-1")), strong: rgb(colour("text")),
});

/** Where an image of this size lies in a box when it keeps its shape: {x, y, scale}. */
export function placed(width, height, boxWidth, boxHeight) {
  const scale = Math.min(boxWidth / width, boxHeight / height);
  return { x: (boxWidth - width * scale) / 2, y: (boxHeight - height * scale) / 2, scale };
}

/** The picture with what lies on it: a heat map that is smooth, and a box. Returns where it lies. */
export function drawOverlay(canvas, picture, heat, opacity, box) {
  const context = fitCanvas(canvas);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  context.clearRect(0, 0, width, height);
  const place = placed(picture.width, picture.height, width, height);
  const whole = [place.x, place.y, picture.width * place.scale, picture.height * place.scale];
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, ...whole);
  if (heat && opacity > 0) {
    // Without its own colours, the picture cannot be mistaken for what lies on it.
    context.globalCompositeOperation = "saturation";
    context.fillStyle = "#808080";
    context.fillRect(...whole);
    context.globalCompositeOperation = "source-over";
    context.imageSmoothingEnabled = picture.width >= 32; // a cell of a grid world stays a cell
    context.globalAlpha = opacity;
    context.drawImage(heat, ...whole);
    context.globalAlpha = 1;
  }
  if (box) outline(context, place, box);
  return place;
}

function outline(context, { x, y, scale }, { top, left, bottom, right }) {
  const edges = [x + left * scale, y + top * scale, (right - left) * scale, (bottom - top) * scale];
  context.lineWidth = 4;
  context.strokeStyle = "rgb(0 0 0 / 60%)";
  context.strokeRect(...edges);
  context.lineWidth = 2;
  context.strokeStyle = "#fff";
  context.strokeRect(...edges);
}

/**
 * Many small pictures in one canvas: `tiles` are canvases of one size, the `marked` one is outlined. Returns a
 * function that says which tile lies under a place, -1 if none does.
 */
export function drawMosaic(canvas, tiles, { marked = -1, gap = tiles.length > 300 ? 1 : 3 } = {}) {
  const width = canvas.clientWidth;
  const aspect = tiles.length ? tiles[0].width / tiles[0].height : 1;
  const most = canvas.clientHeight || 240;
  const { columns, rows } = gridFor(tiles.length, width, most, aspect);
  const cell = Math.max(2, Math.min((width - gap) / columns, ((most - gap) / rows) * aspect));
  const tall = cell / aspect;
  const context = fitCanvas(canvas);
  context.clearRect(0, 0, width, most);
  context.imageSmoothingEnabled = false;
  const at = (index) => [gap + (index % columns) * cell, gap + Math.floor(index / columns) * tall, cell - gap, tall - gap];
  tiles.forEach((tile, index) => {
    const [x, y, w, tallness] = at(index);
    context.drawImage(tile, x, y, w, tallness);
    if (gap > 1) {
      context.strokeStyle = colour("line");
      context.lineWidth = 1;
      context.strokeRect(x - 0.5, y - 0.5, w + 1, tallness + 1);
    }
  });
  if (marked >= 0 && marked < tiles.length) {
    const [x, y, w, tallness] = at(marked);
    context.strokeStyle = colour("accent");
    context.lineWidth = 2.5;
    context.strokeRect(x - 1, y - 1, w + 2, tallness + 2);
  }
  return (x, y) => {
    const column = Math.floor((x - gap / 2) / cell);
    const row = Math.floor((y - gap / 2) / tall);
    const index = row * columns + column;
    return column >= 0 && column < columns && row >= 0 && index < tiles.length ? index : -1;
  };
}

/** Where a pointer is on an element, in its own pixels. */
export function pointer(event, element) {
  const edges = element.getBoundingClientRect();
  return [event.clientX - edges.left, event.clientY - edges.top];
}

export const nothing = (text) => h("p", { class: "nothing" }, text);
