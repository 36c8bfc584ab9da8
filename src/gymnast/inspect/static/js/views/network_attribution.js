// The frame that the policy saw with what the output depends on, and bars for numbers.

import { rowOf } from "/web/wire.js";
import { clear, h, setText } from "../dom.js";
import { number, sentence } from "../format.js";
import { drawOverlay, nothing, palette, pixels, pointer } from "./network_draw.js";
import { beside, boxOf, heatRgba, pictureRgba, scaleOf, spread, strongest, sumFrames, unitAt } from "./network_maths.js";

const ENDED = "The episode ended here: no action was taken that could be explained. Choose the value, or another step.";
const MOST_BARS = 24;
const BESIDE_PICTURE = 6; // where the pixels are drawn already

export function mountAttribution(body, context, extra) {
  const { store, questions, about, choice } = context;
  const images = about.parts.filter((part) => part.pictured);
  const canvas = h("canvas", { class: "insight-frame", tabindex: "0", "aria-label": "The frame that the policy saw; click for a receptive field" });
  const frames = h("div", { class: "insight-frames", role: "list" });
  const bars = h("div", { class: "insight-bars" });
  const line = h("p", { class: "insight-line number", role: "status" });
  const legend = h("p", { class: "insight-legend" }, h("i", { class: "for" }), "speaks for it", h("i", { class: "against" }), "against it");
  const where = h("p", { class: "insight-line muted" });
  const state = h("span", { class: "muted insight-state" });
  extra.append(state);
  if (images.length) body.append(canvas, where, frames);
  body.append(bars, line, legend);
  let shown = null; // {picture, heats: [[label, values]], size: [h, w], row}
  let frame = -1; // which stacked frame is shown: -1 is all of them on the newest
  let placeOf = null;

  const message = (text) => { shown = null; clear(frames); clear(bars, nothing(text)); setText(line, ""); setText(state, ""); legend.hidden = true; blank(); };
  const blank = () => canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
  const failed = (error) => message(sentence(error.message));
  /** Nothing was decided at this row: what the policy saw then, with nothing on it. */
  const ended = () => {
    questions.drop("heat");
    message(ENDED);
    if (!images.length) return;
    questions.soon("picture", { kind: "input", step: store.step }, (input) => {
      const pictures = stacked(input, images[0].name);
      shown = { picture: pictures.at(-1), heats: [], size: [pictures.at(-1).height, pictures.at(-1).width], row: store.step };
      draw();
    }, () => {});
  };

  const draw = () => {
    if (!shown?.picture || !canvas.clientWidth) return;
    const colours = { ...palette(), positiveOnly: choice.positiveOnly };
    const values = shown.heats[Math.max(0, frame < 0 ? 0 : frame + 1)] ?? shown.heats[0];
    const limit = values ? scaleOf(values, shown.exact ? 1 : 0.997, choice.positiveOnly) : 0;
    const heat = values ? pixels(heatRgba(values, limit, colours), shown.size[1], shown.size[0]) : null;
    const picture = frame >= 0 && shown.pictures ? shown.pictures[frame] : shown.picture;
    placeOf = drawOverlay(canvas, picture, heat, choice.opacity, box());
    canvas.dataset.row = String(shown.row);
    setText(state, values ? `full colour at ±${number(limit)}` : "");
  };

  const box = () => {
    const { place } = choice;
    if (!place?.layer?.field || !shown) return null;
    return boxOf(place.layer.field, place.y, place.x, ...shown.size);
  };

  const showCam = (answer) => {
    const { arrays, meta } = answer;
    const at = answer.byRow ??= new Map(Array.from(arrays.rows.data, (row, index) => [row, index]));
    const index = at.get(store.step);
    if (index === undefined) { ended(); return; }
    legend.hidden = false;
    const [height, width] = meta.image;
    const heat = spread(rowOf(arrays.maps, index), arrays.maps.shape.slice(1), meta.layer.field, height, width);
    const use = (picture, pictures) => {
      shown = { picture, pictures, heats: [heat], size: [height, width], row: store.step, exact: true };
      frame = -1;
      clear(frames);
      clear(bars);
      setText(line, `Grad-CAM of ${meta.layer.name} (${meta.layer.kind})`);
      draw();
    };
    if (arrays.images) {
      const [, , , channels] = arrays.images.shape;
      use(pixels(pictureRgba(rowOf(arrays.images, store.step), channels), width, height), null);
    } else {
      questions.soon("picture", { kind: "input", step: store.step }, (input) => {
        const pictures = stacked(input, meta.layer.part);
        use(pictures.at(-1), pictures);
      }, failed);
    }
  };

  const showParts = (answer) => {
    const { arrays, texts, meta } = answer;
    legend.hidden = false;
    const image = meta.parts.find((part) => arrays[`heat/${part.name}`]);
    if (image) {
      const heat = arrays[`heat/${image.name}`];
      const [count, height, width] = heat.shape;
      const pictures = stacked(answer, image.name);
      const each = count > 1 && image.by_frame?.length === count ? Array.from({ length: count }, (_, index) => rowOf(heat, index)) : [];
      shown = { picture: pictures.at(-1), pictures, heats: [sumFrames(heat.data, count), ...each], size: [height, width], row: meta.row };
      if (frame >= count) frame = -1;
      clear(frames, each.length ? frameButtons(image) : []);
    } else {
      shown = { row: meta.row };
      clear(frames);
    }
    clear(bars, meta.parts.filter((part) => part.kind !== "image").map((part) => barsOf(part, arrays, texts, store.recording)), partsOf(meta));
    const gap = meta.gap === null ? "" : `; the shares miss that by ${number(Math.abs(meta.gap))}`;
    setText(line, `The output is ${number(meta.score)}, ${number(Math.abs(meta.score - meta.baseline_score))} ${meta.score >= meta.baseline_score ? "above" : "below"} that of the baseline${gap}`);
    draw();
    if (!image) setText(state, "");
  };

  const frameButtons = (image) => [
    button("all", -1, image.total),
    ...image.by_frame.map((sum, index) => button(index === image.by_frame.length - 1 ? "newest" : `−${image.by_frame.length - 1 - index}`, index, sum)),
  ];
  const button = (text, index, sum) => h("button", { type: "button", role: "listitem", class: "quiet", "aria-pressed": String(frame === index),
    title: index < 0 ? "The shares of all frames added up, on the newest" : `This frame's own share: ${number(sum)}`,
    onclick: () => { frame = index; refresh(); } }, h("span", {}, text), h("span", { class: "number muted" }, number(sum)));
  const refresh = () => {
    [...frames.children].forEach((child, index) => child.setAttribute("aria-pressed", String(index - 1 === frame)));
    draw();
  };

  const update = () => {
    const { method, target, layer, baseline } = choice;
    const late = shown && shown.row !== store.step;
    body.classList.toggle("late", Boolean(late) && method !== "grad_cam");
    const done = (show) => (answer) => { body.classList.remove("late"); show(answer); };
    const bad = (error) => { body.classList.remove("late"); failed(error); };
    if (method === "grad_cam") questions.soon("heat", layer ? { kind: method, target, layer } : { kind: method, target }, done(showCam), bad);
    else if (target === "action" && store.recording.isLast(store.step)) { body.classList.remove("late"); ended(); return; }
    else questions.soon("heat", { kind: method, target, baseline, step: store.step }, done(showParts), bad);
    if (!shown) setText(state, "computing …");
  };

  canvas.addEventListener("click", (event) => {
    if (!placeOf || !shown?.picture) return;
    const layer = selectedLayer();
    if (!layer?.field) return;
    const [x, y] = pointer(event, canvas);
    const [column, row] = [(x - placeOf.x) / placeOf.scale, (y - placeOf.y) / placeOf.scale];
    if (row < 0 || column < 0 || row >= shown.size[0] || column >= shown.size[1]) return;
    const [, height, width] = layer.shape;
    choice.place = { layer, y: unitAt(layer.field, 0, row, height), x: unitAt(layer.field, 1, column, width) };
    context.changed("place");
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { choice.place = null; context.changed("place"); }
  });
  const selectedLayer = () => about.layers.find((layer) => layer.name === choice.selected.layer) ?? about.layers.at(-1) ?? null;
  const explainPlace = () => {
    const { place } = choice;
    if (!about.layers.length) { setText(where, ""); return; }
    if (!place) {
      const layer = selectedLayer();
      setText(where, layer?.field ? `Click the frame to see what one unit of ${layer.name} sees (${layer.field.size.join(" × ")} pixels).` : context.reason("fields") ?? "");
      return;
    }
    const seen = shown?.size ? boxOf(place.layer.field, place.y, place.x, ...shown.size) : null;
    setText(where, seen ? `Unit (${place.y}, ${place.x}) of ${place.layer.name} sees rows ${seen.top} to ${seen.bottom - 1}, columns ${seen.left} to ${seen.right - 1}${place.text ?? ""}` : "");
  };

  explainPlace();
  return {
    draw,
    step: update,
    changed(what) {
      if (what === "opacity") draw();
      else if (["place", "selected", "shown"].includes(what)) { explainPlace(); draw(); }
      else update();
    },
  };
}

/** The pictures of a part that the policy saw at once, oldest first. */
function stacked(answer, part) {
  const image = answer.arrays[`image/${part}`];
  const [count, height, width, channels] = image.shape;
  return Array.from({ length: count }, (_, index) => pixels(pictureRgba(rowOf(image, index), channels), width, height));
}

function barsOf(part, arrays, texts, recording) {
  const values = arrays[`values/${part.name}`].data;
  const inputs = arrays[`inputs/${part.name}`].data;
  const names = texts[`components/${part.name}`] ?? [];
  // Numbers beside pixels that are drawn have bars; of pixels alone the strongest few do.
  const others = beside(part.pixels, values.length);
  const all = strongest(names, values, inputs, part.pixels && !others.length ? BESIDE_PICTURE : MOST_BARS, others.length ? others : undefined);
  const found = values.length > 8 || part.kind !== "vector" ? all.filter(({ value, input }) => value !== 0 || input !== 0) : all;
  const limit = Math.max(...found.map((one) => Math.abs(one.value)), 1e-30);
  const head = h("div", { class: "attribution-bar head" }, h("span", {}, part.name || "component"), h("span", {}, "share"), h("span", {}, "as seen"));
  const lines = found.map(({ name, value, input }) => {
    const bar = h("i", { class: value >= 0 ? "for" : "against" });
    bar.style.setProperty("--share", String(Math.abs(value) / limit));
    return h("div", { class: "attribution-bar", dataset: { component: name, value: String(value) } },
      h("span", { class: "name", title: name }, called(name, recording)), h("span", { class: "axis-bar" }, bar), h("span", { class: "number" }, number(value)), h("span", { class: "number muted" }, number(input)));
  });
  const less = others.length ? others.length - found.length : values.length - found.length;
  const more = less > 0 ? h("p", { class: "muted" }, `and ${less} more with smaller shares or none`) : null;
  const frames = part.by_frame?.length > 1
    ? h("p", { class: "muted number" }, `by stacked observation, oldest first: ${part.by_frame.map(number).join(", ")}`) : null;
  return h("div", { class: "attribution-part" }, head, ...lines, ...[more, frames].filter(Boolean));
}

/** `PART[2] (1 before)` by the name that the component has, where the page knows one. */
function called(name, recording) {
  const [, part, index, when] = /^(.+)\[(\d+)\]( \(\d+ before\))?$/.exec(name) ?? [];
  const own = recording.partNames.get(`obs/${part}`)?.[index];
  return own ? `${own}${when ?? ""}` : name;
}

/** The sums of a dict observation's entries. */
function partsOf({ observation_parts: parts }) {
  if (!parts?.length) return [];
  return h("p", { class: "muted number" }, `by part: ${parts.map(({ name, total }) => `${name} ${number(total)}`).join(", ")}`);
}
