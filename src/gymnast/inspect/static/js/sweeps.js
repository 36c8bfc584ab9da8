// The Sweeps tab: a list of sweeps; of one, its trials as lines across their settings, and each setting by itself.

import { address, getJson } from "/web/api.js";
import { clear, colour, h, notify } from "./dom.js";
import { sentence, short } from "./format.js";
import { CONFIG, layout, plotly } from "./training/plot.js";

const MOST_SLICES = 16;
const ROWS = 12;
const MOST_LINES = 300; // the best of them

export function mountSweeps(element, app) {
  const list = h("div", { class: "sweep-list" });
  const shown = h("div", { class: "sweep-shown" });
  const place = h("div", { class: "sweeps" }, list, shown);
  let chosen = null;

  const load = async () => {
    try {
      const { sweeps } = await getJson(address(["sweeps"]));
      if (!sweeps.length) {
        clear(element, h("div", { class: "empty" }, h("h2", {}, "No sweeps yet"),
          h("p", {}, "A sweep trains a preset many times with other settings."), h("pre", { class: "command" }, "gymnast sweep CartPole-v1:ppo --trials 32")));
        return;
      }
      if (!place.isConnected) clear(element, place);
      chosen ??= sweeps[0].id;
      clear(list, sweeps.map((sweep) => h("button", {
        type: "button", class: "sweep-entry", "aria-pressed": String(sweep.id === chosen), onclick: () => { chosen = sweep.id; load(); },
      }, h("strong", {}, sweep.name), h("span", { class: "mono muted" }, sweep.id), h("span", { class: `chip ${sweep.status}` }, sweep.status),
      h("span", { class: "muted number" }, `${sweep.trials.made}/${sweep.trials.wanted} trials, ${sweep.method}`))));
      show(await getJson(address(["sweeps", chosen])));
    } catch (error) {
      notify(error.message, "error");
    }
  };

  const show = async (found) => {
    const { sweep, settings, trials, importances } = found;
    const valued = trials.filter((trial) => trial.value !== null && trial.status !== "failed");
    const better = found.goal === "maximize" ? 1 : -1;
    const ranked = [...valued].sort((a, b) => better * (b.value - a.value));
    const lines = h("div", { class: "sweep-lines", role: "img", "aria-label": `${valued.length} trials as lines across their settings` });
    const slices = h("div", { class: "sweep-slices" });
    clear(shown,
      h("h2", {}, sweep.name, " ", h("span", { class: "mono muted" }, sweep.id)),
      h("p", {}, found.winner === null ? `${sweep.trials.finished} finished, ${sweep.trials.pruned} given up, ${sweep.trials.failed} failed` : sentence(sweep.verdict)),
      weights(importances), lines, slices, table(ranked, settings, sweep.objective, found.winner));
    if (!valued.length) return;
    let Plotly;
    try { Plotly = await plotly(); } catch (error) { clear(lines, h("p", { class: "muted" }, error.message)); return; }
    if (!lines.isConnected) return;
    parallel(Plotly, lines, valued, settings, sweep.objective, better);
    const keys = settings.map(({ key }) => key).sort((a, b) => (importances[b] ?? 0) - (importances[a] ?? 0)).slice(0, MOST_SLICES);
    for (const key of keys) slice(Plotly, slices, key, settings.find((one) => one.key === key).log, valued, sweep.objective);
  };

  const table = (ranked, settings, objective, winner) => h("div", { class: "table-scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, ["trial", objective, "status", ...settings.map(({ key }) => label(key)), "run"].map((name) => h("th", {}, name)))),
    h("tbody", {}, ranked.slice(0, ROWS).map((trial) => h("tr", {},
      h("td", { class: "number" }, `${trial.trial}${trial.origin === "baseline" ? " preset" : ""}${trial.trial === winner ? " ★" : ""}`),
      h("td", { class: "number" }, figure(trial.value)), h("td", {}, trial.status),
      settings.map(({ key }) => h("td", { class: "number" }, figure(trial.values[key]))),
      h("td", {}, h("button", { type: "button", class: "link mono", onclick: () => app.chooseRun(trial.runs[0]).then(() => app.showTab("training")) }, trial.runs[0])))))));

  app.on("tab", (tab) => { if (tab === "sweeps") load(); });
}

function weights(importances) {
  const entries = Object.entries(importances);
  if (!entries.length) return null;
  return h("p", { class: "muted" }, "What matters: ", entries.slice(0, 6).map(([key, share]) => `${label(key)} ${Math.round(100 * share)} %`).join(", "));
}

/** Numbers as they are or by their logarithm; anything else by its place in the list of what there is. */
function dimension(name, values, log) {
  const numbers = values.every((value) => value === undefined || value === null || typeof value === "number");
  if (!numbers) {
    const kinds = [...new Set(values.map((value) => JSON.stringify(value)))];
    return { label: label(name), values: values.map((value) => kinds.indexOf(JSON.stringify(value))), tickvals: kinds.map((_, at) => at), ticktext: kinds };
  }
  const known = values.filter((value) => typeof value === "number");
  const low = Math.min(...known.filter((value) => !log || value > 0));
  const bent = (value) => (log ? Math.log10(Math.max(value ?? low, low)) : value ?? low);
  const all = values.map(bent);
  const ends = [Math.min(...all), Math.max(...all)];
  if (ends[0] === ends[1]) return { label: label(name), values: all, range: [ends[0] - 1, ends[1] + 1], tickvals: [ends[0]], ticktext: [figure(known[0])] };
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => ends[0] + share * (ends[1] - ends[0]));
  return { label: label(name), values: all, range: ends, tickvals: ticks, ticktext: ticks.map((place) => figure(log ? 10 ** place : place)) };
}

/** One line for each trial. Drawn as a plain chart: plotly's own parallel coordinates need WebGL, which not every browser has. */
function parallel(Plotly, place, trials, settings, objective, better) {
  const dimensions = settings.map(({ key, log }) => dimension(key, trials.map((trial) => trial.values[key]), log));
  dimensions.push(dimension(objective, trials.map((trial) => trial.value), false));
  const shares = dimensions.map(({ values, range, tickvals }) => {
    const [low, high] = range ?? [tickvals[0], tickvals.at(-1)];
    return values.map((value) => (high > low ? (value - low) / (high - low) : 0.5));
  });
  const order = trials.map((trial, at) => at).sort((a, b) => better * (trials[a].value - trials[b].value)).slice(-MOST_LINES);
  const traces = order.map((at, rank) => {
    const preset = trials[at].origin === "baseline";
    return {
      type: "scatter", mode: "lines", x: dimensions.map((_, axis) => axis), y: shares.map((share) => share[at]),
      text: dimensions.map((one, axis) => `trial ${trials[at].trial}${preset ? " (preset)" : ""}: ${one.label} ${figure(axis < settings.length ? trials[at].values[settings[axis].key] : trials[at].value)}`),
      hovertemplate: "%{text}<extra></extra>", opacity: preset ? 1 : 0.12 + 0.78 * ((rank + 1) / order.length) ** 2,
      line: { color: colour(preset ? "series-2" : "series-1"), width: preset ? 2.5 : 1.5 },
    };
  });
  const ends = dimensions.flatMap(({ ticktext }, axis) => [[ticktext.at(-1), 1.07], [ticktext[0], -0.07]].map(([text, y]) => ({
    text, x: axis, y, showarrow: false, font: { size: 10.5, color: colour("muted") },
  })));
  Plotly.newPlot(place, traces, layout({
    height: 320, hovermode: "closest", annotations: ends, margin: { l: 20, r: 20, t: 10, b: 40 },
    xaxis: { tickvals: dimensions.map((_, axis) => axis), ticktext: dimensions.map(({ label: name }) => name), range: [-0.4, dimensions.length - 0.6], nticks: undefined },
    yaxis: { visible: false, range: [-0.14, 1.14] },
  }), CONFIG);
}

function slice(Plotly, place, key, log, trials, objective) {
  const box = h("div", { class: "sweep-slice" });
  place.append(h("figure", {}, h("figcaption", {}, label(key)), box));
  const group = (wanted, name, style) => {
    const some = trials.filter((trial) => wanted(trial) && trial.values[key] !== undefined && trial.values[key] !== null && !(log && trial.values[key] <= 0));
    return {
      type: "scatter", mode: "markers", name, x: some.map((trial) => trial.values[key]), y: some.map((trial) => trial.value),
      text: some.map((trial) => `trial ${trial.trial}`), hovertemplate: "%{text}: %{x}, %{y:.4g}<extra></extra>", marker: style,
    };
  };
  const preset = (trial) => trial.origin === "baseline";
  Plotly.newPlot(box, [
    group((trial) => !preset(trial), "trials", { color: colour("series-1"), size: 6, opacity: 0.75 }),
    group(preset, "preset", { color: colour("series-2"), size: 10 }),
  ], layout({ height: 190, hovermode: "closest", xaxis: { type: log ? "log" : undefined, nticks: 5 }, yaxis: { title: { text: objective, font: { size: 10.5 } } } }), CONFIG);
}

function label(key) { return key.replace(/^algo\./, "").replace(/\.start$/, ""); }

function figure(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return typeof value === "string" ? value : JSON.stringify(value);
  return Math.abs(value) >= 1e5 ? short(value) : String(Number(value.toPrecision(4)));
}
