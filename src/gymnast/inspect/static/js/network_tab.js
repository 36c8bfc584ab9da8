// The Network tab: one view of what the network sees for each open recording.

import * as web from "/web/api.js";
import { clear, h } from "./dom.js";
import { title } from "./workspace.js";

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
      mounted.set(store, { box });
      place.append(box);
      mounted.get(store).view = mountNetworkView(box, store, api);
    }
    place.dataset.count = String(stores.length);
    clear(place, stores.map((store) => mounted.get(store).box));
  };
  const drop = (kept) => {
    for (const [store, { view, box }] of mounted) {
      if (kept.includes(store)) continue;
      view?.destroy?.();
      box.remove();
      mounted.delete(store);
    }
  };
  app.on("tab", () => queueMicrotask(render));
  app.on("opened", () => queueMicrotask(render));
}
