// The list of runs: searchable, newest first, live ones marked.

import { address, getJson } from "/web/api.js";
import { clear, h, icon, setText } from "../dom.js";
import { ago, compact, score as scoreText, sentence } from "../format.js";

const PAGE = 60;
const EVERY = 4000; // ms between looks while the page is in sight

export function mountRuns(element, app) {
  const search = h("input", { type: "search", placeholder: "Search runs", "aria-label": "Search runs", spellcheck: "false" });
  const count = h("span", { class: "muted small number" });
  const list = h("div", { class: "run-list", role: "list", "aria-label": "Runs" });
  const more = h("button", { type: "button", class: "quiet more", hidden: true, onclick: () => { limit += PAGE; load(); } }, "Show more");
  element.append(h("div", { class: "run-search" }, icon("search"), search), h("div", { class: "run-count" }, count),
    h("div", { class: "run-scroll" }, list, more));
  let limit = PAGE;
  let wait = null;
  let asked = 0;
  const rows = new Map(); // id → element, kept so that a refresh does not lose focus or scroll

  const load = async () => {
    const own = (asked += 1);
    try {
      const answer = await getJson(address(["runs"], { q: search.value.trim(), limit, offset: 0 }));
      if (own !== asked) return;
      show(answer);
    } catch (error) {
      if (own === asked) { setText(count, ""); clear(list, h("p", { class: "nothing" }, sentence(error.message))); rows.clear(); }
    }
  };
  const show = ({ total, runs }) => {
    setText(count, search.value.trim() ? `${total} found` : `${total} ${total === 1 ? "run" : "runs"}`);
    more.hidden = total <= runs.length;
    const wanted = new Set(runs.map((run) => run.id));
    for (const id of [...rows.keys()]) if (!wanted.has(id)) rows.delete(id);
    const elements = runs.map((run) => {
      const kept = rows.get(run.id);
      const key = JSON.stringify(run);
      if (kept?.key === key) return kept.element;
      const fresh = runLine(app, run);
      const focused = kept && kept.element.contains(document.activeElement);
      rows.set(run.id, { key, element: fresh, run });
      if (focused) queueMicrotask(() => fresh.querySelector("button").focus());
      return fresh;
    });
    if (!elements.length) clear(list, nothing(search.value.trim()));
    else if (elements.length !== list.children.length || elements.some((one, index) => list.children[index] !== one)) clear(list, elements);
    mark();
    app.emit("runs", { runs, none: !total && !search.value.trim() });
  };
  const mark = () => {
    for (const [id, { element: own }] of rows) {
      own.classList.toggle("chosen", id === app.run);
      own.querySelector(".run-main").setAttribute("aria-current", String(id === app.run));
      const compared = app.compared.has(id);
      const button = own.querySelector(".run-compare");
      button.setAttribute("aria-pressed", String(compared));
      button.hidden = id === app.run;
    }
  };
  search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(() => { limit = PAGE; load(); }, 150); });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { list.querySelector("button")?.focus(); event.preventDefault(); }
    if (event.key === "Enter") list.querySelector("button")?.click();
    if (event.key === "Escape") { search.value = ""; search.blur(); load(); }
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...list.querySelectorAll(".run-main")];
    const at = buttons.indexOf(document.activeElement.closest(".run")?.querySelector(".run-main"));
    (buttons[at + step] ?? (step < 0 ? search : null))?.focus();
  });
  app.on("run", mark);
  app.on("compared", mark);
  setInterval(() => { if (!document.hidden) load(); }, EVERY);
  return { load, focus: () => search.focus(), find: (id) => rows.get(id)?.run };
}

function nothing(query) {
  return query
    ? h("p", { class: "nothing" }, `No run matches “${query}”. Words of its id, environment, algorithm, seed, status or reason are searched.`)
    : h("div", { class: "nothing" }, h("p", {}, "There are no runs in this folder yet. Train one:"),
      h("pre", {}, "gymnast train CartPole-v1:ppo"), h("p", {}, "It appears here as soon as it starts."));
}

function runLine(app, run) {
  const score = run.best ?? run.last;
  const line = h("div", { class: "run", role: "listitem", dataset: { run: run.id } },
    h("button", {
      type: "button", class: "run-main", onclick: () => app.turnTo(run.id),
      title: [`${run.env}${run.variant ? `:${run.variant}` : ""}`, run.id, run.status, run.notes].filter(Boolean).join("\n"),
    },
    h("span", { class: "run-top" }, run.live ? h("i", { class: "live-dot", title: "training now" }) : null,
      h("strong", {}, run.env), h("span", { class: `number score${run.solved ? " solved" : ""}`, title: run.solved ? "best score; solved" : "best score" }, score === null || score === undefined ? "" : scoreText(score))),
    h("span", { class: "run-bottom muted" }, h("span", { class: "mono" }, run.id), h("span", {}, run.variant || run.algo || ""),
      h("span", { class: "number", title: "env steps" }, compact(run.env_steps)), statusText(run))),
    h("button", {
      type: "button", class: "run-compare", "aria-label": `Compare ${run.id} in the training picture`, title: "Add to the training picture",
      onclick: () => app.toggleCompared(run),
    }, icon("plus")));
  return line;
}

function statusText(run) {
  if (run.live) return h("span", { class: "status live" }, run.status === "paused" ? "paused" : "live");
  if (["finished", "solved"].includes(run.status)) return h("span", {}, ago(run.started));
  return h("span", { class: `status ${run.status}` }, run.status);
}
