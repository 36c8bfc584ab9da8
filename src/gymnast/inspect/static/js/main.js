// The page: its frame, its tabs, its keys.

import { address, getJson } from "/web/api.js";
import { App } from "./app.js";
import { clear, h, iconButton, notify, setText, themeChanged } from "./dom.js";
import { helpDialog } from "./help.js";
import { score as scoreText } from "./format.js";
import { mountNetwork } from "./network_tab.js";
import { mountRecord } from "./pick/record.js";
import { mountRuns } from "./pick/runs.js";
import { mountSweeps } from "./sweeps.js";
import { mountTraining } from "./training/training.js";
import { mountTransport } from "./transport.js";
import { mountWorkspace } from "./workspace.js";

const TABS = [["record", "Record"], ["step", "Step"], ["network", "Network"], ["training", "Training"], ["sweeps", "Sweeps"]];
const app = new App();

applyTheme(localStorage.getItem("gymnast-theme"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);

const tabs = Object.fromEntries(TABS.map(([name, label], index) => [name, h("button", {
  type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `page-${name}`, title: `${label} (${index + 1})`, onclick: () => app.showTab(name),
}, label, name === "step" ? h("span", { class: "count number", hidden: true }) : null)]));
const pages = Object.fromEntries(TABS.map(([name]) => [name, h("section", {
  class: `page page-${name}`, role: "tabpanel", id: `page-${name}`, "aria-labelledby": `tab-${name}`, hidden: name !== "record",
})]));
const heading = h("div", { class: "run-heading", "aria-live": "polite" });
const sidebar = h("aside", { class: "sidebar", id: "runs", "aria-label": "Runs" });
const footer = h("footer", { class: "footer", hidden: true });
const connection = h("span", { class: "connection", role: "status" });
const help = helpDialog();

document.getElementById("app").replaceChildren(
  h("header", { class: "top" },
    iconButton("sidebar", "Show or hide the runs ([)", () => toggleSidebar()),
    h("div", { class: "brand" }, h("img", { src: "/icon.svg", alt: "", width: "22", height: "22" }), h("strong", {}, "Gymnast"), h("span", { class: "muted" }, "inspector")),
    h("nav", { class: "tabs", role: "tablist", "aria-label": "Parts of the page" }, TABS.map(([name]) => tabs[name])),
    heading,
    h("div", { class: "tools" }, connection, iconButton("theme", "Light or dark (T)", () => toggleTheme()), iconButton("help", "Keys (?)", () => help.showModal()))),
  h("div", { class: "body" }, sidebar, h("main", { id: "main", class: "main", tabindex: "-1" }, TABS.map(([name]) => pages[name]))),
  footer);

const runs = mountRuns(sidebar, app);
mountRecord(pages.record, app);
mountWorkspace(pages.step, app);
mountNetwork(pages.network, app);
mountSweeps(pages.sweeps, app);
const training = mountTraining(pages.training, app, { onConnection: (text) => setText(connection, text) });
const transport = mountTransport(footer, app);

app.on("tab", showTab);
app.on("opened", showTab);
app.on("details", showHeading);
app.on("run", () => {
  clear(heading);
  const fields = new URLSearchParams(location.hash.slice(1));
  if (app.run) fields.set("run", app.run);
  fields.delete("checkpoint");
  history.replaceState(null, "", `#${fields}`);
});
app.on("run-error", (error) => {
  if (app.tab !== "record" && error.status === 404) app.showTab("record");
});

function showTab() {
  for (const [name] of TABS) {
    pages[name].hidden = name !== app.tab;
    tabs[name].setAttribute("aria-selected", String(name === app.tab));
  }
  const open = app.group.stores.length;
  const count = tabs.step.querySelector(".count");
  count.hidden = !open;
  setText(count, String(open));
  footer.hidden = !open || !["step", "network"].includes(app.tab);
  if (app.tab === "step" && open && matchMedia("(max-width: 1500px)").matches && !sidebar.dataset.asked) toggleSidebar(false, true);
  if (app.tab !== "step" && app.tab !== "network" && !sidebar.dataset.asked) toggleSidebar(true, true);
  if (app.tab !== "step" && app.tab !== "network") transport.player.pause();
  training.visible(app.tab === "training");
}

function showHeading({ run }) {
  const score = run.best ?? run.last;
  clear(heading,
    run.live ? h("i", { class: "live-dot" }) : null,
    h("strong", {}, `${run.env}${run.variant ? `:${run.variant}` : ""}`), h("span", { class: "mono muted" }, run.id),
    h("span", { class: `chip ${run.live ? "live" : run.status}` }, run.status),
    score === null || score === undefined ? null : h("span", { class: "muted number" }, `best ${scoreText(score)}`),
    run.notes ? h("span", { class: "muted notes", title: run.notes }, run.notes) : null);
}

function toggleSidebar(wanted = null, byItself = false) {
  const hide = wanted === null ? !document.body.classList.contains("no-sidebar") : !wanted;
  document.body.classList.toggle("no-sidebar", hide);
  if (!byItself) sidebar.dataset.asked = "yes";
}

function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  themeChanged();
}

function toggleTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = dark ? "light" : "dark";
  localStorage.setItem("gymnast-theme", theme);
  applyTheme(theme);
}

const pageKeys = {
  "/": () => { toggleSidebar(true); runs.focus(); }, "[": () => toggleSidebar(), t: toggleTheme, "?": () => help.showModal(),
  ...Object.fromEntries(TABS.map(([name], index) => [String(index + 1), () => app.showTab(name)])),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const at = event.target;
  const typing = at.matches?.("input:not([type=range]):not([type=checkbox]), textarea, select");
  if (typing) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === " " && at.matches?.("button, [role=radio], summary")) return; // space presses the button that has the focus
  const stepping = app.group.active && ["step", "network"].includes(app.tab);
  const inTable = at.closest?.('[data-keys="own"]') && { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }[key]; // line by line
  const action = pageKeys[key] ?? (stepping ? transport.keys[inTable || key] : null);
  if (!action) return;
  event.preventDefault();
  action(event.shiftKey);
});

async function begin() {
  showTab();
  const fields = new URLSearchParams(location.hash.slice(1));
  const wanted = fields.get("run");
  try {
    app.session = await getJson(address(["session"]));
    document.title = `Gymnast inspector · ${app.session.runs_dir_name}`;
  } catch (error) {
    notify(error.message, "error");
  }
  await runs.load();
  if (wanted) await app.chooseRun(wanted, { checkpoint: fields.get("checkpoint") });
  try {
    for (const [index, recording] of (app.session?.opened ?? []).entries()) await app.open(recording, { beside: index > 0 });
  } catch (error) {
    notify(error.message, "error");
  }
}

window.gymnast = { app, transport }; // for the console, and for measurements
begin();
