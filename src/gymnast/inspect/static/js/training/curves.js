// Curves of one or more runs, over steps, updates or time, with alerts on the time line; they grow while a run trains.

import { clear, colour, h, onTheme, segmented } from "../dom.js";
import { short } from "../format.js";
import { CONFIG, layout, plotly, SERIES } from "./plot.js";
import { AXES, groups } from "./series.js";

const SEVERITY = { critical: "bad", warning: "warn", info: "muted" };

export function mountCurves(element, state) {
  let axis = "vector"; // as everywhere where runs are compared
  let group = "overview";
  let log = false;
  const choice = h("select", { "aria-label": "Which metrics", onchange: () => { group = choice.value; rebuild(); } });
  const axes = segmented("x axis", Object.entries(AXES).map(([name, [, label]]) => [name, label]), axis, (value) => { axis = value; draw(); });
  const scales = segmented("y axis", [[false, "linear"], [true, "log"]], false, (value) => { log = value; draw(); });
  const legend = h("div", { class: "run-legend" });
  const grid = h("div", { class: "chart-grid" });
  element.append(h("div", { class: "training-tools" }, choice, axes, scales, legend), grid);
  let charts = new Map(); // metric → element

  const rebuild = () => {
    const found = groups(state.all());
    const names = found.map(([name]) => name);
    if (!names.includes(group)) group = names[0] ?? "overview";
    choice.replaceChildren(...found.map(([name, own]) => h("option", { value: name, selected: name === group }, `${name} (${own.length})`)));
    const wanted = found.find(([name]) => name === group)?.[1] ?? [];
    const kept = new Map();
    for (const name of wanted) kept.set(name, charts.get(name) ?? chart(name, state));
    charts = kept;
    clear(grid, wanted.length ? [...charts.values()].map(({ box }) => box)
      : [h("p", { class: "nothing" }, "No metrics yet. A run writes its first line after its first update.")]);
    return draw();
  };
  const draw = async () => {
    const runs = state.all();
    clear(legend, runs.map((series, index) => h("span", { class: "legend-item" }, swatch(index), h("span", { class: "mono" }, series.id),
      h("span", { class: "muted" }, state.title(series.id)))));
    if (!charts.size) return;
    let Plotly;
    try { Plotly = await plotly(); } catch (error) { clear(grid, h("p", { class: "problem" }, error.message)); return; }
    for (const [name, { plot, last }] of charts) {
      const traces = runs.map((series, index) => {
        const { x, y } = series.points(name, axis);
        const few = y.length < 40;
        return { x, y, name: series.id, mode: few ? "lines+markers" : "lines", type: "scatter", line: { color: colour(SERIES[index % 6]), width: 1.7 },
          marker: { size: 4 }, hovertemplate: `%{y:.5~g}<extra>${runs.length > 1 ? series.id.replace(/[<>&%]/g, "") : ""}</extra>` };
      });
      last.textContent = traces[0]?.y.length ? short(traces[0].y.at(-1)) : "";
      Plotly.react(plot, traces, layout({
        xaxis: { title: { text: AXES[axis][1], font: { size: 10.5, color: colour("muted") }, standoff: 4 } },
        yaxis: { type: log ? "log" : "linear" }, shapes: alertLines(state.alerts(), runs[0], axis), uirevision: `${axis}${log}`,
      }), CONFIG);
    }
  };
  const leave = [onTheme(draw)];
  rebuild();
  return {
    /** New rows came: draw, and add charts for metrics that are new. */
    update() {
      const known = [...choice.options].map((option) => option.textContent).join();
      const now = groups(state.all()).map(([name, own]) => `${name} (${own.length})`).join();
      return known === now ? draw() : rebuild();
    },
    destroy() {
      leave.forEach((fn) => fn());
      for (const { plot } of charts.values()) window.Plotly?.purge(plot);
    },
  };
}

function swatch(index) {
  const mark = h("i", { class: "swatch" });
  mark.style.background = `var(--${SERIES[index % 6]})`;
  return mark;
}

function chart(name, state) {
  const spec = state.all().map((series) => series.specs[name]).find(Boolean);
  const last = h("span", { class: "number muted" });
  const plot = h("div", { class: "plot" });
  const box = h("section", { class: "panel chart", "aria-label": name, dataset: { metric: name } },
    h("header", { title: spec?.description ?? name }, h("h3", { class: "mono" }, name),
      spec?.better ? h("span", { class: "muted small", title: `${spec.better} is better` }, { higher: "↑", lower: "↓", max: "↑", min: "↓" }[spec.better] ?? "") : null,
      spec?.unit ? h("span", { class: "muted small" }, spec.unit) : null, h("span", { class: "spring" }), last),
    plot);
  return { box, plot, last };
}

function alertLines(alerts, series, axis) {
  if (!series) return [];
  return alerts.slice(0, 30).map((alert) => {
    const at = series.at(alert.first_step, axis);
    return { type: "line", xref: "x", yref: "paper", x0: at, x1: at, y0: 0, y1: 1, line: { color: colour(SEVERITY[alert.severity] ?? "warn"), width: 1, dash: "dot" } };
  }).filter((shape) => shape.x0 !== null && shape.x0 !== undefined);
}
