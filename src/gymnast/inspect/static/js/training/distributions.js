// Distributions over time as heat maps.

import { address, getJson } from "/web/api.js";
import { clear, colour, h, onTheme } from "../dom.js";
import { CONFIG, layout, plotly, scale } from "./plot.js";

export async function mountDistributions(element, run) {
  const found = await getJson(address(["runs", run, "distributions"]));
  const names = Array.isArray(found) ? found : found.names ?? [];
  if (!names.length) {
    clear(element, h("p", { class: "nothing" }, "This run kept no distributions. `observe.distributions` in its config switches them on."));
    return { destroy() {} };
  }
  const Plotly = await plotly();
  const boxes = names.map((entry) => {
    const name = typeof entry === "string" ? entry : entry.name;
    const plot = h("div", { class: "plot tall" });
    return { name, plot, box: h("section", { class: "panel chart", "aria-label": name, dataset: { distribution: name } }, h("header", {}, h("h3", { class: "mono" }, name)), plot) };
  });
  clear(element, h("div", { class: "chart-grid wide" }, boxes.map(({ box }) => box)));
  const draw = () => { for (const one of boxes) if (one.data) drawHeat(Plotly, one.plot, one.data); };
  const leave = onTheme(draw);
  for (const one of boxes) {
    getJson(address(["runs", run, "distributions", one.name]))
      .then((data) => { one.data = data; drawHeat(Plotly, one.plot, data); })
      .catch((error) => clear(one.plot, h("p", { class: "problem" }, error.message)));
  }
  return { destroy() { leave(); for (const { plot } of boxes) Plotly.purge(plot); } };
}

function drawHeat(Plotly, plot, { x, edges, labels, z }) {
  // One row per moment as it is stored; a heat map wants one per bin.
  const bins = labels?.length ?? (edges ? edges.length - 1 : z[0]?.length ?? 0);
  const turned = z.length === bins && z.length !== x.length ? z : Array.from({ length: bins }, (_, bin) => z.map((row) => row[bin]));
  const y = labels?.length ? labels.map(String) : edges ? middles(edges) : turned.map((_, index) => index);
  Plotly.react(plot, [{ type: "heatmap", x, y, z: turned, colorscale: scale(), showscale: false, hovertemplate: "%{x} steps, %{y}: %{z:.3~g}<extra></extra>", zsmooth: false }], layout({
    hovermode: "closest", xaxis: { title: { text: "env steps", font: { size: 10.5, color: colour("muted") }, standoff: 4 }, showgrid: false }, yaxis: { showgrid: false, ...(labels?.length ? { type: "category" } : {}) },
  }), CONFIG);
}

function middles(edges) { return edges.slice(0, -1).map((edge, index) => (edge + edges[index + 1]) / 2); }
