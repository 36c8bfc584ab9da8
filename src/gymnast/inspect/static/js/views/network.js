// What a network sees at the steps of a recording. Everything is asked for on demand; Grad-CAM comes for the whole
// episode at once and then follows the step without the server.

import { address } from "/web/api.js";
import { decode } from "/web/wire.js";
import { clear, h, onResize, onTheme, segmented } from "../dom.js";
import { mountFrame } from "./frame.js";
import { Questions } from "./network_ask.js";
import { mountAttribution } from "./network_attribution.js";
import { nothing } from "./network_draw.js";
import { mountLayers } from "./network_layers.js";
import { mountMemory, mountUnits } from "./network_state.js";

const METHODS = ["grad_cam", "integrated_gradients", "occlusion"];

/** Mounts the view for one recording: `store` is followed, `api` asks the server. */
export function mountNetworkView(element, store, api) {
  addStyles();
  const path = address(["recordings", store.recording.id, "insight"]);
  const ask = async (question) => {
    const buffer = await api.binary(path, { method: "POST", body: question });
    const first = new Uint8Array(buffer, 0, Math.min(1, buffer.byteLength))[0];
    return first === 0x7b ? JSON.parse(new TextDecoder().decode(buffer)) : decode(buffer); // "{" or GYM1
  };
  const questions = new Questions(ask);
  const place = h("div", { class: "insight", "aria-busy": "true" }, h("p", { class: "nothing" }, "Loading the network …"));
  element.append(place);
  const parts = [];
  let ended = false;
  questions.get({ kind: "about" }).then((about) => {
    if (!ended) build(place, { store, questions, about, parts });
  }, (error) => {
    if (!ended) clear(place, h("div", { class: "empty" }, h("h2", {}, "This network cannot be looked into"), h("p", {}, error.message)));
  }).finally(() => place.removeAttribute("aria-busy"));
  const redraw = () => parts.forEach((part) => part.draw?.());
  const endings = [store.subscribe(() => parts.forEach((part) => part.step?.())), onResize(place, redraw), onTheme(redraw)];
  return {
    resize: redraw,
    destroy() {
      ended = true;
      questions.end();
      endings.forEach((end) => end());
      parts.forEach((part) => part.destroy?.());
      element.replaceChildren();
    },
  };
}

function build(place, context) {
  const { about, parts } = context;
  const reason = (name) => about.views.find((view) => view.name === name)?.reason ?? null;
  const usable = about.targets.filter((target) => !target.reason);
  const choice = {
    method: METHODS.find((name) => !reason(name)) ?? null,
    target: usable[0]?.name ?? null,
    layer: null, opacity: 0.85, positiveOnly: false, baseline: "auto", selected: { layer: null, filter: -1 }, place: null,
  };
  Object.assign(context, { choice, reason, changed: (what) => parts.forEach((part) => part.changed?.(what)) });
  const why = h("div", { class: "insight-why" });
  clear(place, controls(context, why),
    h("p", { class: "insight-hint", role: "note" }, h("strong", {}, "A hint, not an explanation. "), about.hint.replace(/^Saliency is a hint, not an explanation: i/, "I")),
    why, panels(context));
  context.start();
}

function controls(context, why) {
  const { about, choice, reason, changed } = context;
  const titles = Object.fromEntries(about.views.map((view) => [view.name, view.title]));
  const methods = segmented("Method", METHODS.map((name) => [name, titles[name], reason(name) ?? ""]), choice.method, (name) => {
    choice.method = name;
    changed("method");
    sync();
  });
  for (const button of methods.querySelectorAll("button")) button.disabled = Boolean(reason(button.dataset.value));
  const targets = h("select", { "aria-label": "What is explained", onchange: (event) => { choice.target = event.target.value; changed("target"); } },
    about.targets.map((target) => h("option", { value: target.name, disabled: Boolean(target.reason), selected: target.name === choice.target, title: target.reason }, target.label)));
  const layers = h("select", { "aria-label": "Layer of Grad-CAM", onchange: (event) => { choice.layer = event.target.value || null; changed("layer"); } },
    h("option", { value: "" }, "last layer"), about.layers.map((layer) => h("option", { value: layer.name }, layer.name)));
  const baselines = h("select", { "aria-label": "Baseline", onchange: (event) => { choice.baseline = event.target.value; changed("baseline"); } },
    [["auto", "usual baseline"], ["mean", "mean of the episode"], ["zero", "zero"]].map(([value, text]) => h("option", { value }, text)));
  const opacity = h("input", { type: "range", min: "0", max: "1", step: "0.01", value: String(choice.opacity), "aria-label": "Opacity of the overlay",
    oninput: (event) => { choice.opacity = Number(event.target.value); changed("opacity"); } });
  const signs = h("label", { class: "check", title: "Leave out what speaks against the target" },
    h("input", { type: "checkbox", onchange: (event) => { choice.positiveOnly = event.target.checked; changed("opacity"); } }), "only what speaks for it");
  const field = (text, control) => h("label", { class: "insight-field" }, h("span", {}, text), control);
  const layerField = field("Layer", layers);
  const baselineField = field("Compared with", baselines);
  const images = about.parts.some((part) => part.pictured);
  const sync = () => {
    layerField.hidden = choice.method !== "grad_cam";
    baselineField.hidden = choice.method === "grad_cam";
  };
  sync();
  // What holds for all methods is said where their result would be.
  const reasons = choice.method ? METHODS.filter(reason).map((name) => `${titles[name]}: ${reason(name)}.`) : [];
  for (const control of [targets, layers, baselines]) control.disabled = !choice.method;
  const texts = [...reasons, ...about.notes.map((note) => `${note}.`), ...about.targets.filter((target) => target.reason).map((target) => `${target.label}: ${target.reason}`)];
  clear(why, texts.map((text) => h("p", { class: "muted" }, text)));
  return h("div", { class: "insight-controls" }, methods, field("Explains", targets), layerField, baselineField,
    images ? field("Opacity", opacity) : null, images ? signs : null);
}

function panels(context) {
  const { about, parts, reason, store } = context;
  const panel = (name, title, body, extra = null) => h("section", { class: `panel insight-${name}`, "aria-label": title, dataset: { insight: name } },
    h("header", {}, h("h3", {}, title), extra), body);
  const mounts = [];
  const add = (name, title, mount, why = null) => {
    const body = h("div", { class: "insight-body" });
    const extra = h("div", { class: "insight-extra" });
    if (why) body.append(nothing(`${why[0].toUpperCase()}${why.slice(1)}.`));
    else mounts.push(() => parts.push(mount(body, context, extra)));
    return panel(name, title, body, extra);
  };
  const noAttribution = context.choice.method ? null : reason("integrated_gradients");
  const noTarget = context.choice.target ? null : "nothing of this recording can be explained";
  const left = [
    add("attribution", "What the output depends on", mountAttribution, noAttribution ?? noTarget),
    about.memories.length ? add("memory", "Recurrent state over the episode", mountMemory) : null,
    add("units", "Units that do nothing", mountUnits, reason("units")),
  ];
  const absent = about.memories.length ? null : h("p", { class: "muted insight-absent" }, `Recurrent state: ${reason("memory")}.`);
  // Where the network reads no picture, the rendered one says what the numbers are about.
  const rendered = store.recording.frames?.count && !about.parts.some((part) => part.pictured);
  const right = [rendered ? add("rendered", "Frame", (body) => mountFrame(body, store)) : null, add("layers", "Layers", mountLayers), absent];
  // Panels measure themselves, so they are filled once they are in the page.
  context.start = () => { mounts.forEach((mount) => mount()); parts.forEach((part) => part.step?.()); };
  return h("div", { class: "insight-panels" }, h("div", { class: "insight-column" }, left), h("div", { class: "insight-column" }, right));
}

function addStyles() {
  if (document.querySelector('link[href="/network.css"]')) return;
  document.head.append(h("link", { rel: "stylesheet", href: "/network.css" }));
}
