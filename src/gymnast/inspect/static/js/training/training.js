// The Training tab: curves, distributions, settings, videos and the report of the chosen run, live while it trains.

import { address, getJson, openSocket, post } from "/web/api.js";
import { clear, h, notify, setText } from "../dom.js";
import { compact, integer, score as scoreText, sentence } from "../format.js";
import { mountAlerts } from "./alerts.js";
import { mountCurves } from "./curves.js";
import { mountDistributions } from "./distributions.js";
import { mountReport } from "./report.js";
import { mountReview } from "./review.js";
import { Series } from "./series.js";
import { mountSettings } from "./settings.js";

const PARTS = [["curves", "Curves"], ["distributions", "Distributions"], ["settings", "Settings"], ["videos", "Videos"], ["report", "Report"], ["review", "Review"]];
const OUTCOMES = {
  checkpoint: () => "A checkpoint was saved.",
  evaluate: (waited, score) => (waited ? `Evaluated: score ${scoreText(score)}.` : "It will be evaluated when it is resumed."),
  pause: () => "Paused.", resume: () => "Resumed.", stop: () => "Stopped. Everything is saved, and it can be resumed.",
};
const CONTROLS = [["checkpoint", "Checkpoint"], ["evaluate", "Evaluate"], ["pause", "Pause"], ["resume", "Resume"], ["stop", "Stop"]];

export function mountTraining(element, app, { onConnection }) {
  let part = "curves";
  let inSight = false;
  let view = null; // of the shown part
  let built = null; // the run that is shown
  const series = new Map(); // run id → Series
  const head = h("div", { class: "training-head" });
  const alerts = h("section", { class: "panel alerts", "aria-label": "Alerts" });
  const alertView = mountAlerts(alerts);
  const nav = h("div", { class: "subtabs", role: "tablist", "aria-label": "Parts of the training page" }, PARTS.map(([name, label]) => h("button", {
    type: "button", role: "tab", "aria-selected": String(name === part), dataset: { part: name }, onclick: () => { part = name; show(); },
  }, label)));
  const body = h("div", { class: "training-body" });
  const empty = h("div", { class: "empty" }, h("h2", {}, "No run is chosen"), h("p", {}, "Choose a run on the left to see how it trains. The plus beside a run adds it to the picture."));
  const place = h("div", { class: "training" });
  element.append(place);
  const state = {
    all: () => [app.run, ...app.compared.keys()].map((id) => series.get(id)).filter(Boolean),
    alerts: () => app.details?.alerts ?? [],
    title: (id) => (id === app.run ? "" : app.compared.get(id)?.env ?? ""),
  };
  const head_ = headline(app, head);

  const fetchRows = async (id) => {
    const own = series.get(id) ?? new Series(id);
    if (own.busy) { own.again = true; return; }
    own.busy = true;
    try {
      own.add(await getJson(address(["runs", id, "metrics"], { since: own.next, points: 2000 })));
      series.set(id, own);
    } finally {
      own.busy = false;
    }
    if (own.again) { own.again = false; await fetchRows(id); }
  };
  const show = async () => {
    if (!inSight) return;
    for (const button of nav.children) button.setAttribute("aria-selected", String(button.dataset.part === part));
    view?.destroy?.();
    view = null;
    if (!app.run) { clear(place, empty); return; }
    if (!app.details) return;
    if (built !== app.run || !place.contains(body)) { built = app.run; clear(place, head, alerts, nav, body); }
    head_.show(app.details);
    alertView.show(app.details.alerts ?? [], app.details.run.env_steps);
    const wanted = `${app.run} ${part}`;
    const isWanted = () => wanted === `${app.run} ${part}`; // another part may be chosen while this one loads
    clear(body, h("p", { class: "nothing" }, "Loading…"));
    try {
      const content = h("div");
      const made = await build(content, isWanted);
      if (!isWanted()) { made?.destroy?.(); return; }
      view = made;
      if (body.firstChild !== content) clear(body, content);
    } catch (error) {
      if (isWanted()) clear(body, h("p", { class: "problem", role: "alert" }, sentence(error.message)));
    }
  };
  const build = async (content, isWanted) => {
    const { run } = app;
    if (part === "curves") {
      await Promise.all([run, ...app.compared.keys()].map(fetchRows));
      if (!isWanted()) return null;
      clear(body, content); // charts measure their place
      return mountCurves(content, state);
    }
    if (part === "distributions") { clear(body, content); return mountDistributions(content, run); }
    if (part === "settings") {
      const others = await Promise.all([...app.compared.keys()].map((id) => getJson(address(["runs", id]))));
      return mountSettings(content, app.details, others);
    }
    if (part === "videos") return videos(content, app.details);
    if (part === "review") return mountReview(content, app);
    if (app.details.has_report === false) { content.append(h("p", { class: "nothing" }, "This run has no report yet: one is written when it ends, or by `gymnast report`.")); return null; }
    return mountReport(content, run);
  };

  let socket = null;
  const watch = () => {
    const ids = [app.run, ...app.compared.keys()].filter(Boolean);
    if (!ids.length) return;
    if (socket) socket.send({ watch: ids });
    else {
      socket = openSocket("/api/live", {
        onMessage: onLive,
        onOpen: (handle) => handle.send({ watch: [app.run, ...app.compared.keys()].filter(Boolean) }),
        onState: (what) => onConnection(what === "open" ? "" : "connection lost, trying again…"),
      });
    }
  };
  let lastDetails = 0;
  let drawAfter = 0;
  let late = null;
  const onLive = async (message) => {
    const id = message.run;
    if (!id || (id !== app.run && !app.compared.has(id))) return;
    const now = Date.now();
    const ended = id === app.run && app.details && message.status && message.status !== app.details.run.status;
    if (id === app.run && (ended || now - lastDetails > 2000)) { lastDetails = now; app.refreshRun(); }
    if (id === app.run) head_.progress(message);
    if (!inSight || !view) return;
    if (part === "distributions" && id === app.run) { moreDistributions(); return; }
    if (part !== "curves" || !series.has(id)) return;
    if (now < drawAfter) { // what is missed now comes with a later message; the last one is always drawn
      clearTimeout(late);
      late = setTimeout(() => onLive(message), drawAfter - now + 20);
      return;
    }
    drawAfter = Infinity;
    try { await fetchRows(id); } catch { drawAfter = now + 2000; return; } // the connection says so already
    // A run's status is written seldom; its metrics are as new as its last update.
    if (id === app.run) head_.progress({ env_steps: series.get(id).columns["time/env_steps"]?.at(-1) ?? 0 });
    await view?.update?.();
    // Drawing takes at most a quarter of the time, also on a slow machine.
    drawAfter = Date.now() + Math.max(700, 3 * (Date.now() - now));
  };

  let looking = false;
  const moreDistributions = async () => {
    if (looking) return;
    looking = true;
    const mine = view;
    try {
      if (await mine.outdated?.() && view === mine) show();
      else await mine.update?.();
    } catch { /* the connection says so already */ }
    setTimeout(() => { looking = false; }, 2000);
  };

  app.on("run", () => { clear(body); built = null; watch(); });
  app.on("details", (details) => {
    if (built === app.run && inSight) {
      head_.show(details);
      alertView.show(details.alerts ?? [], details.run.env_steps);
    } else show();
  });
  app.on("compared", () => { watch(); if (part !== "review") show(); }); // a question under way is not lost
  return {
    visible(now) {
      if (inSight === now) return;
      inSight = now;
      if (now) show(); else { view?.destroy?.(); view = null; built = null; }
    },
  };
}

function headline(app, element) {
  const steps = h("strong", { class: "number" });
  const bar = h("progress", { max: "1", value: "0", "aria-label": "Share of the budget that is used" });
  const act = async (action, button) => {
    button.disabled = true; // the run answers after its update
    button.setAttribute("aria-busy", "true");
    try {
      const { waited, score } = await post(`/api/runs/${encodeURIComponent(app.run)}/control`, { action });
      notify(OUTCOMES[action](waited, score));
    } catch (error) { notify(error.message, "error"); }
    button.disabled = false;
    button.removeAttribute("aria-busy");
    setTimeout(() => app.refreshRun(), 600);
  };
  const buttons = CONTROLS.map(([action, label]) => h("button", {
    type: "button", dataset: { action }, class: action === "stop" ? "danger" : "", onclick: ({ currentTarget }) => (action !== "stop" || confirm("Stop this run? It is saved first and can be resumed.")) && act(action, currentTarget),
  }, label));
  const figures = h("dl", { class: "figures" });
  element.append(figures, h("div", { class: "budget" }, steps, bar), h("div", { class: "controls", role: "group", "aria-label": "Control of the live run" }, buttons));
  const progress = ({ env_steps: known, total_steps: total }) => {
    const of = total ?? element.total;
    const done = Math.max(known ?? 0, element.done ?? 0);
    element.done = done;
    setText(steps, `${integer(done)}${of ? ` of ${compact(of)}` : ""} env steps`);
    bar.hidden = !of;
    if (of) bar.value = Math.min(1, done / of);
  };
  return {
    progress,
    show({ run, checkpoints }) {
      if (element.run !== run.id) element.done = 0;
      Object.assign(element, { run: run.id, total: run.total_steps });
      progress(run);
      const pair = (name, value) => h("div", {}, h("dt", {}, name), h("dd", { class: "number" }, value));
      clear(figures, pair("status", run.live ? `${run.status}, live` : run.status), pair("algorithm", `${run.algo ?? "–"}, seed ${run.seed ?? "–"}`),
        pair("best", scoreText(run.best)), pair("last", scoreText(run.last)), pair("checkpoints", String(checkpoints.length)));
      for (const button of buttons) {
        const paused = run.status === "paused";
        button.hidden = !run.live || (button.dataset.action === "pause" && paused) || (button.dataset.action === "resume" && !paused);
      }
    },
  };
}

function videos(element, { run, videos: names = [], video_urls: urls = {} }) {
  element.append(names.length ? h("div", { class: "chart-grid wide" }, names.map((name) => h("figure", { class: "panel video" },
    h("video", { src: urls[name] ?? "", controls: true, preload: "metadata", loop: true }), h("figcaption", { class: "mono" }, name))))
    : h("div", { class: "nothing" }, h("p", {}, "This run has no videos yet. Make one:"), h("pre", {}, `gymnast video record ${run.id}`)));
  return null;
}
