// Settings of a run, what differs from the defaults, and how compared runs differ from each other.

import { clear, h } from "../dom.js";

const text = (value) => (value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));

/** Keys whose values differ between runs: [{key, values: [by run]}]. Pure. */
export function differences(all) {
  const keys = [...new Set(all.flatMap((settings) => Object.keys(settings)))];
  return keys.map((key) => ({ key, values: all.map((settings) => settings[key]) }))
    .filter(({ values }) => values.some((value) => JSON.stringify(value) !== JSON.stringify(values[0])));
}

export function mountSettings(element, details, others) {
  let query = "";
  const all = [details, ...others];
  const place = h("div");
  const search = h("input", { type: "search", placeholder: "Search settings", "aria-label": "Search settings", oninput: () => { query = search.value.toLowerCase(); render(); } });
  const table = (head, rows) => h("table", { class: "settings" }, h("thead", {}, h("tr", {}, head.map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, index) => h(index ? "td" : "th", { class: "mono", scope: index ? null : "row" }, cell))))));
  const matches = (key) => !query || key.toLowerCase().includes(query);
  const render = () => {
    const changed = Object.entries(details.changed ?? {}).filter(([key]) => matches(key));
    const rest = Object.entries(details.settings ?? {}).filter(([key]) => matches(key));
    const between = others.length ? differences(all.map((one) => one.settings ?? {})).filter(({ key }) => matches(key)) : [];
    clear(place,
      others.length ? section(`Differences between ${all.length} runs`, between.length
        ? table(["setting", ...all.map((one) => one.run.id)], between.map(({ key, values }) => [key, ...values.map(text)]))
        : h("p", { class: "fine" }, "None.")) : null,
      section("Changed from the defaults", changed.length
        ? table(["setting", "this run", "default"], changed.map(([key, { value, default: usual }]) => [key, text(value), text(usual)]))
        : h("p", { class: "fine" }, "None.")),
      section("All settings", table(["setting", "value"], rest.map(([key, value]) => [key, text(value)]))));
  };
  clear(element, h("div", { class: "training-tools" }, search), place);
  render();
}

function section(title, body) { return h("section", { class: "panel block" }, h("h3", {}, title), body); }
