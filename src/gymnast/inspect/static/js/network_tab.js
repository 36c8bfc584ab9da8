// The Network tab: one view of what the network sees for each open recording.

import * as web from "/web/api.js";
import { clear, h, setText } from "./dom.js";
import { number, percent } from "./format.js";
import { heading, title } from "./workspace.js";

const api = {
  json: (path, options = {}) => web.getJson(path, options),
  binary: (path, options = {}) => web.getBinary(path, options),
};

export function mountNetwork(element, app) {
  const mounted = new Map(); // store → {element, view}
  let mountNetworkView = null;
  let failed = null;
  const empty = h("div", { class: "empty" }, h("h2", {}, "No recording is open"),
    h("p", {}, "What a network sees is shown for the steps of a recording. Record an episode first, or open one that was kept."),
    h("button", { type: "button", class: "primary", onclick: () => app.showTab("record") }, "Record an episode"));
  const place = h("div", { class: "workspace network-place" });
  element.append(place);

  const render = async () => {
    if (element.hidden) return; // nothing is computed for a tab that is not in sight
    const { stores } = app.group;
    if (!stores.length) { drop([]); clear(place, empty); return; }
    try {
      mountNetworkView ??= (await import("./views/network.js")).mountNetworkView;
    } catch (error) {
      failed = error;
    }
    if (failed) { clear(place, h("div", { class: "empty" }, h("h2", {}, "This view cannot be loaded"), h("p", {}, failed.message))); return; }
    drop(stores);
    for (const store of stores) {
      if (mounted.has(store)) continue;
      const box = h("section", { class: "network-column", "aria-label": title(store.recording) });
      const body = h("div");
      const head = h("header", { class: "network-head" });
      box.append(head, body);
      place.append(box);
      mounted.set(store, { box, leave: mountHead(head, store), view: mountNetworkView(body, store, api) });
    }
    place.dataset.count = String(stores.length);
    clear(place, stores.map((store) => mounted.get(store).box));
  };
  const drop = (kept) => {
    for (const [store, { view, box, leave }] of mounted) {
      if (kept.includes(store)) continue;
      leave();
      view?.destroy?.();
      box.remove();
      mounted.delete(store);
    }
  };
  app.on("tab", () => queueMicrotask(render));
  app.on("opened", () => queueMicrotask(render));
}

/** Which recording it is, and what was decided at the shown step, that the views below explain. Returns what ends it. */
function mountHead(element, store) {
  const { recording } = store;
  const [name, of] = heading(recording);
  const [place, action, share, value] = Array.from({ length: 4 }, () => h("span", { class: "number" }));
  element.append(name, h("p", { class: "muted" }, of), h("p", { class: "network-step" }, place, h("strong", {}, action), share, value));
  const show = (step) => {
    const line = recording.stepOfRow[step];
    setText(place, `episode ${recording.episodeOf(step)}, step ${recording.stepInEpisode(step)}`);
    setText(action, line < 0 ? "ended" : recording.label(step));
    setText(share, line >= 0 && recording.has("probability") ? percent(recording.cell("probability", line)) : "");
    const worth = recording.number("value", step);
    setText(value, Number.isFinite(worth) ? `value ${number(worth)}` : "");
  };
  show(store.step);
  return store.subscribe(show);
}
