// The Step tab: one column for each open recording, each with every view of it.

import { address, download } from "/web/api.js";
import { clear, h, icon, iconButton, notify } from "./dom.js";
import { chosenBy, integer, short } from "./format.js";
import { mountActions } from "./views/actions.js";
import { mountFrame } from "./views/frame.js";
import { mountInfo } from "./views/info.js";
import { mountObservation } from "./views/observation.js";
import { mountReadout } from "./views/readout.js";
import { mountSeen } from "./views/seen.js";
import { mountStrips } from "./views/strips.js";
import { mountTable } from "./views/table.js";

// Three columns where there is room; in a narrow place they are one list.
const COLUMNS = [
  [["frame", "Frame", mountFrame], ["seen", "What the policy sees", mountSeen], ["info", "Info", mountInfo]],
  [["actions", "Policy", mountActions], ["observation", "Observation", mountObservation]],
  [["curves", "Curves", mountStrips], ["steps", "Steps", mountTable]],
];

export function mountWorkspace(element, app) {
  const columns = new Map(); // store → {element, destroy}
  const empty = h("div", { class: "empty" },
    h("div", { class: "empty-mark" }, icon("play")),
    h("h2", {}, "No recording is open"),
    h("p", {}, "Choose a run on the left, record an episode of one of its checkpoints, and step through what the policy saw, did and got."),
    h("button", { type: "button", class: "primary", onclick: () => app.showTab("record") }, "Record an episode"));
  const place = h("div", { class: "workspace" });
  element.append(place);

  const render = () => {
    const { stores } = app.group;
    for (const [store, column] of columns) {
      if (stores.includes(store)) continue;
      column.destroy();
      columns.delete(store);
    }
    for (const store of stores) if (!columns.has(store)) columns.set(store, buildColumn(app, store));
    place.dataset.count = String(stores.length);
    const wanted = stores.length ? stores.map((store) => columns.get(store).element) : [empty];
    if (wanted.length !== place.children.length || wanted.some((one, index) => place.children[index] !== one)) clear(place, wanted);
    for (const [store, column] of columns) column.element.classList.toggle("active", store === app.group.active && stores.length > 1);
  };
  app.on("opened", render);
  app.group.subscribe(() => { if (stale()) render(); });
  const stale = () => app.group.stores.length !== columns.size
    || [...columns].some(([store, { element: own }]) => own.classList.contains("active") !== (store === app.group.active && columns.size > 1));
  render();
}

function buildColumn(app, store) {
  const { recording } = store;
  const panels = h("div", { class: "panels" });
  const readout = h("div", { class: "readout", role: "group", "aria-label": "The shown step" });
  const column = h("section", {
    class: "recording", "aria-label": title(recording), dataset: { recording: recording.id },
    onpointerdown: () => app.group.activate(store),
  }, head(app, store), h("div", { class: "recording-scroll" }, readout, panels));
  const views = [mountReadout(readout, store)];
  for (const own of COLUMNS) panels.append(h("div", { class: "panel-column" }, own.map(panel)));
  function panel([name, label, mount]) {
    const body = h("div", { class: "panel-body" });
    const heading = h("header", {}, h("h3", {}, label));
    const section = h("section", { class: `panel view view-${name}`, "aria-label": label, dataset: { view: name } }, heading, body);
    // Views measure themselves, so they are mounted once their place is in the page.
    queueMicrotask(() => {
      try {
        const view = mount(body, store);
        if (view.control) heading.append(view.control);
        section.classList.toggle("brief", Boolean(view.brief));
        views.push(view);
      } catch (error) {
        body.append(h("p", { class: "nothing" }, `This cannot be shown: ${error.message}`));
      }
    });
    return section;
  }
  return { element: column, destroy() { views.forEach((view) => view.destroy()); } };
}

/** What a recording is of, in short: [env and task, run, checkpoint, seed, how actions were chosen]. */
export function heading({ meta }) {
  return [h("h2", {}, meta.task ? `${meta.env_id} · ${meta.task}` : meta.env_id), [
    meta.run ? [h("span", { class: "mono" }, meta.run), " · "] : null,
    meta.checkpoint === null || meta.checkpoint === undefined ? "" : `${integer(meta.checkpoint)} steps · `,
    `seed ${meta.seed} · ${chosenBy(meta.recording?.player, meta.sampled)}`].flat()];
}

export function title({ meta, summary }) {
  const checkpoint = meta.checkpoint ?? summary.checkpoint;
  return `${meta.env_id}, ${checkpoint === null || checkpoint === undefined ? "no checkpoint" : `checkpoint ${checkpoint}`}, seed ${meta.seed}`;
}

function head(app, store) {
  const { recording } = store;
  const { meta } = recording;
  const episodes = meta.episodes ?? [];
  const returns = episodes.map((episode) => short(episode.return));
  const field = (name, symbol, value) => h("label", { class: "inline-field", title: `${name}: returns and advantages are computed again with it` }, symbol,
    h("input", { type: "number", min: "0", max: "1", step: "0.001", name, value: value ?? "", class: "number", "aria-label": name }));
  const gamma = field("gamma", "γ", store.gamma ?? meta.gamma);
  const lam = field("lambda", "λ", store.lam ?? meta.lam ?? meta.gae_lambda);
  const again = async () => {
    const [g, l] = [gamma, lam].map((label) => label.querySelector("input").value);
    if (g === "" || l === "") return;
    try {
      await app.discount(store, { gamma: Number(g), lam: Number(l) });
    } catch (error) {
      notify(error.message, "error");
    }
  };
  for (const label of [gamma, lam]) label.querySelector("input").addEventListener("change", again);
  const csv = async () => {
    const path = address(["recordings", recording.id, "steps.csv"], { gamma: store.gamma, lam: store.lam });
    try {
      await download(path, `${meta.run ?? "recording"}-${meta.checkpoint ?? ""}-seed${meta.seed}-steps.csv`);
    } catch (error) {
      notify(error.message, "error");
    }
  };
  const [name, of] = heading(recording);
  return h("header", { class: "recording-head" },
    h("div", { class: "recording-title" }, name,
      h("p", { class: "muted", title: title(recording) }, of, " · ",
        `return ${returns.slice(0, 3).join(", ")}${returns.length > 3 ? " …" : ""}`,
        meta.cut?.includes("max_steps") ? " (cut before its end)" : "")),
    h("div", { class: "recording-tools" }, gamma, lam,
      h("button", { type: "button", class: "quiet", onclick: csv, title: "The table of steps as a file" }, icon("download"), "CSV"),
      iconButton("close", "Close this recording", () => app.close(store))));
}
