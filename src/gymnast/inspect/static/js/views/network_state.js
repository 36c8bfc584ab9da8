// The memory of a recurrent policy over the episode, and units that do nothing.

import { clear, colour, fitCanvas, h, setText } from "../dom.js";
import { integer, number } from "../format.js";
import { nothing, palette, pixels, pointer } from "./network_draw.js";
import { blendRgba, scaleOf, shareText } from "./network_maths.js";

const AT_ONCE = 400; // rows up to which units are counted without being asked to

export function mountMemory(body, context, extra) {
  const { store, questions } = context;
  const select = h("select", { "aria-label": "Which state", onchange: () => draw() });
  const canvas = h("canvas", { class: "insight-states", "aria-label": "Recurrent state: units from top to bottom, rows from left to right" });
  const line = h("p", { class: "insight-line muted" });
  extra.append(select);
  body.append(canvas, line);
  let answer = null;
  let image = null; // {name, canvas, theme}

  const draw = () => {
    if (!answer || !canvas.clientWidth) return;
    const [, rows, units] = answer.arrays.states.shape;
    const which = Math.max(0, select.selectedIndex);
    const values = answer.arrays.states.data.subarray(which * rows * units, (which + 1) * rows * units);
    const theme = colour("panel");
    if (image?.which !== which || image.theme !== theme) {
      const turned = new Float32Array(values.length); // units down, rows across
      for (let row = 0; row < rows; row += 1) for (let unit = 0; unit < units; unit += 1) turned[unit * rows + row] = values[row * units + unit];
      const { zero, positive, negative } = palette();
      const limit = scaleOf(turned, 0.999);
      image = { which, theme, limit, canvas: pixels(blendRgba(turned, limit, zero, positive, negative), rows, units) };
    }
    const context2d = fitCanvas(canvas);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    context2d.clearRect(0, 0, width, height);
    context2d.imageSmoothingEnabled = false;
    context2d.drawImage(image.canvas, 0, 0, width, height);
    context2d.fillStyle = colour("text");
    context2d.fillRect(((store.step + 0.5) / rows) * width - 0.75, 0, 1.5, height);
    canvas.dataset.row = String(store.step);
    setText(line, `${units} units, rows 0 to ${integer(rows - 1)}; full colour at ±${number(image.limit)}. Click to go there.`);
  };
  canvas.addEventListener("click", (event) => {
    if (answer) store.setStep(Math.floor((pointer(event, canvas)[0] / canvas.clientWidth) * answer.arrays.states.shape[1]));
  });
  questions.get({ kind: "memory" }).then((found) => {
    answer = found;
    clear(select, found.texts.names.map((name) => h("option", {}, name)));
    draw();
  }, (error) => clear(body, nothing(error.message)));
  return { draw, step: draw };
}

export function mountUnits(body, context) {
  const { questions, about } = context;
  const show = ({ layers, rows }) => {
    const head = h("tr", {}, ["Layer", "Activation", "Dead", "Saturated"].map((text) => h("th", { scope: "col" }, text)));
    const lines = layers.map((layer) => h("tr", { dataset: { layer: layer.name } },
      h("th", { scope: "row" }, layer.name), h("td", {}, layer.activation),
      h("td", { class: layer.dead_share > 0.25 ? "number warn" : "number", title: named(layer.dead) }, shareText(layer.dead.length, layer.units)),
      h("td", { class: layer.saturated_share > 0.25 ? "number warn" : "number", title: named(layer.saturated) }, layer.activation === "tanh" ? shareText(layer.saturated.length, layer.units) : "–")));
    clear(body, h("table", { class: "insight-units-table" }, h("thead", {}, head), h("tbody", {}, lines)),
      h("p", { class: "muted" }, `Over ${integer(rows)} rows. Dead: a ReLU that is never above 0, or another unit whose output hardly changes. Saturated: a tanh that is always beyond ±0.97.`));
  };
  const count = () => {
    clear(body, nothing("Counting …"));
    questions.get({ kind: "units" }).then(show, (error) => clear(body, nothing(error.message)));
  };
  if (about.rows <= AT_ONCE) count();
  else body.append(h("p", { class: "muted" }, `Every row goes through the network once, ${integer(about.rows)} in all.`), h("button", { type: "button", onclick: count }, "Count dead units"));
  return {};
}

const named = (units) => (units.length ? `units ${units.slice(0, 40).join(", ")}${units.length > 40 ? " …" : ""}` : "");
