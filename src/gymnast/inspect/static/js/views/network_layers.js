// Activations, winners and filters of a layer, and the patches that excite the filter that was clicked.

import { rowOf } from "/web/wire.js";
import { clear, h, segmented, setText } from "../dom.js";
import { integer, number, sentence } from "../format.js";
import { drawMosaic, nothing, palette, pixels, pointer } from "./network_draw.js";
import { blendRgba, pictureRgba, scaleOf, strongestInput, winner } from "./network_maths.js";

const MOST_SIDE_BY_SIDE = 6; // input channels of a kernel that are drawn beside each other

export function mountLayers(body, context, extra) {
  const { store, questions, about, choice } = context;
  const maps = new Map(about.layers.map((layer) => [layer.name, layer]));
  let mode = "activations";
  let answer = null;
  let hit = () => -1;
  const select = h("select", { "aria-label": "Layer", onchange: () => { choice.selected = { layer: select.value, filter: -1 }; choice.place = null; clear(patches); context.changed("selected"); show(); } });
  const modes = segmented("What is shown", [["activations", "Activations"], ["winners", "Winners", "Which filter is strongest at each place"], ["filters", "Filters", "The weights themselves"]], mode, (name) => { mode = name; show(); });
  const canvas = h("canvas", { class: "insight-mosaic", "aria-label": "Its units or filters; click one" });
  const line = h("p", { class: "insight-line muted", role: "status" });
  const patches = h("div", { class: "insight-patches" });
  extra.append(select);
  body.append(modes, canvas, line, patches);

  const fillSelect = () => {
    const names = answer ? Object.keys(answer.arrays).filter((name) => name.startsWith("layer/")).map((name) => name.slice(6)) : [...maps.keys()];
    if (select.options.length === names.length) return;
    clear(select, names.map((name) => h("option", { value: name }, maps.has(name) ? `${name}, ${maps.get(name).kind}` : name)));
    choice.selected.layer ??= about.layers.at(-1)?.name ?? names[0] ?? null;
    select.value = choice.selected.layer;
  };

  const show = () => {
    const none = answer && !select.options.length;
    for (const one of [select, modes, canvas]) one.hidden = Boolean(none);
    if (none) { setText(line, "The network has no hidden layer: its outputs are sums of what it reads."); return; }
    const layer = maps.get(choice.selected.layer);
    for (const button of modes.querySelectorAll("button")) {
      button.disabled = (button.dataset.value === "winners" && !layer) || (button.dataset.value === "filters" && !layer?.filters);
      if (button.disabled && button.dataset.value === mode) { mode = "activations"; modes.set(mode); }
    }
    if (mode === "filters") questions.soon("filters", { kind: "filters", layer: layer.name }, (found) => drawFilters(found, layer), failed);
    else drawActivations();
  };
  const failed = (error) => setText(line, sentence(error.message));

  const drawActivations = () => {
    if (!answer || !choice.selected.layer) return;
    const name = choice.selected.layer;
    const array = answer.arrays[`layer/${name}`];
    if (!array) return;
    const { zero, positive, negative } = palette();
    canvas.classList.toggle("flat", array.shape.length === 1);
    if (array.shape.length === 1) {
      const side = Math.ceil(Math.sqrt(array.shape[0] * 4));
      const padded = new Float32Array(side * Math.ceil(array.shape[0] / side));
      padded.set(array.data);
      const tile = pixels(blendRgba(padded, scaleOf(array.data), zero, positive, negative), side, padded.length / side);
      drawMosaic(canvas, [tile]);
      hit = () => -1;
      setText(line, `${array.shape[0]} units of ${name}, from ${number(Math.min(...array.data))} to ${number(Math.max(...array.data))}`);
      return;
    }
    const [count, height, width] = array.shape;
    if (mode === "winners") {
      const winners = answer.arrays[`winners/${name}`].data;
      const tile = pixels(hues(winners, count, zero), width, height);
      drawMosaic(canvas, [tile]);
      hit = (x, y) => winnerUnder(winners, width, height, x, y);
      const distinct = new Set(winners);
      distinct.delete(-1);
      setText(line, distinct.size ? `${distinct.size} of ${count} filters are strongest somewhere; a colour is a filter. Click one.` : "No filter is above 0 anywhere.");
      return;
    }
    const limit = scaleOf(array.data);
    const tiles = Array.from({ length: count }, (_, index) => pixels(blendRgba(rowOf(array, index), limit, zero, positive, negative), width, height));
    hit = drawMosaic(canvas, tiles, { marked: choice.selected.filter });
    const active = tiles.reduce((sum, _, index) => sum + (rowOf(array, index).some((value) => value > 0) ? 1 : 0), 0);
    setText(line, `${count} filters of ${height} × ${width} places, ${active} above 0 somewhere at this step; the strongest gives ${number(limit)}. Click one.`);
  };

  const winnerUnder = (winners, width, height, x, y) => {
    const side = Math.min((canvas.clientWidth - 3) / 1, (canvas.clientHeight - 3) * (width / height));
    const column = Math.floor(((x - 3) / (side - 3)) * width);
    const row = Math.floor(((y - 3) / ((side * height) / width - 3)) * height);
    return column >= 0 && row >= 0 && column < width && row < height ? winners[row * width + column] : -1;
  };

  const drawFilters = (found, layer) => {
    const array = found.arrays.filters;
    canvas.classList.remove("flat");
    const [count, inputs, height, width] = array.shape;
    const { zero, positive, negative } = palette();
    const limit = scaleOf(array.data, 0.998);
    const beside = inputs <= MOST_SIDE_BY_SIDE ? inputs : 1;
    const columns = beside === 4 ? 2 : beside;
    const tiles = Array.from({ length: count }, (_, index) => {
      const kernels = rowOf(array, index);
      const size = height * width;
      const first = beside === 1 ? strongestInput(kernels, inputs, size) : 0;
      const tile = document.createElement("canvas");
      tile.width = columns * width + columns - 1;
      tile.height = Math.ceil(beside / columns) * (height + 1) - 1;
      for (let i = 0; i < beside; i += 1) {
        const part = kernels.subarray((first + i) * size, (first + i + 1) * size);
        const one = pixels(blendRgba(part, limit, zero, positive, negative), width, height);
        tile.getContext("2d").drawImage(one, (i % columns) * (width + 1), Math.floor(i / columns) * (height + 1));
      }
      return tile;
    });
    hit = drawMosaic(canvas, tiles, { marked: choice.selected.filter, gap: 7 });
    const what = beside === inputs ? (inputs === 1 ? "" : `, each with its ${inputs} input channels`) : `, each with the strongest of its ${inputs} inputs`;
    setText(line, `${count} filters of ${height} × ${width}${what}. Click one.`);
  };

  const choose = (filter) => {
    if (filter < 0) return;
    choice.selected = { layer: choice.selected.layer, filter };
    context.changed("selected");
    show();
    clear(patches, h("p", { class: "muted" }, `Looking for what excites filter ${filter} most …`));
    questions.soon("patches", { kind: "patches", layer: choice.selected.layer, filter, count: 8 }, (found) => showPatches(found, filter), (error) => clear(patches, nothing(error.message)));
  };

  const showPatches = ({ arrays, meta }, filter) => {
    const heading = h("h4", {}, `What excites filter ${filter} of ${meta.layer.name} most`);
    if (!arrays.pixels) { clear(patches, heading, nothing(context.reason("fields") ?? "Where its units look is not known.")); return; }
    const [count, frames, height, width, channels] = arrays.pixels.shape;
    const size = height * width * channels;
    const tiles = Array.from({ length: count }, (_, index) => {
      const newest = arrays.pixels.data.subarray((index * frames + frames - 1) * size, (index * frames + frames) * size);
      const row = arrays.rows.data[index];
      const picture = pixels(pictureRgba(newest, channels), width, height);
      picture.className = "pixel";
      const [y, x] = arrays.places.data.subarray(2 * index, 2 * index + 2);
      return h("button", { type: "button", class: "patch", title: `Go to row ${row}`, dataset: { row: String(row) },
        onclick: () => { choice.place = { layer: meta.layer, y, x }; store.setStep(row); context.changed("place"); } },
      picture, h("span", { class: "number" }, number(arrays.values.data[index])), h("span", { class: "number muted" }, `row ${integer(row)}`));
    });
    const weak = arrays.values.data[0] <= 0;
    clear(patches, heading, weak ? nothing("This filter is never above 0 in this recording.") : h("div", { class: "patch-list" }, tiles));
  };

  canvas.addEventListener("click", (event) => {
    if (maps.has(choice.selected.layer)) choose(hit(...pointer(event, canvas)));
  });

  const explainPlace = () => {
    const { place } = choice;
    const array = place && answer?.arrays[`layer/${place.layer.name}`];
    if (!array) return;
    const [count, height, width] = array.shape;
    const at = Array.from({ length: count }, (_, index) => array.data[index * height * width + place.y * width + place.x]);
    const best = winner(at);
    place.text = best < 0 ? "; no filter is above 0 there" : `; filter ${best} is strongest there (${number(at[best])})`;
  };

  return {
    draw: show,
    step() {
      questions.soon("activations", { kind: "activations", step: store.step }, (found) => {
        answer = found;
        fillSelect();
        canvas.dataset.row = String(found.meta.row);
        show();
        if (choice.place) { explainPlace(); context.changed("shown"); }
      }, failed);
    },
    changed(what) {
      if (what === "place") { explainPlace(); context.changed("shown"); show(); }
    },
  };
}

/** A colour of its own for each filter; `zero` where none wins. */
function hues(winners, count, zero) {
  const out = new Uint8ClampedArray(winners.length * 4);
  winners.forEach((filter, index) => {
    out.set(filter < 0 ? [...zero, 255] : [...hue((filter * 0.61803) % 1, 0.45 + 0.25 * (((filter * 7) % count) / count)), 255], index * 4);
  });
  return out;
}

function hue(turn, light) {
  const channel = (shift) => {
    const k = (shift + turn * 12) % 12;
    return 255 * (light - 0.55 * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [channel(0), channel(8), channel(4)];
}
