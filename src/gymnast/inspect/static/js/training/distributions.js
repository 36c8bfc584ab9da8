// Distributions over time as heat maps.

import { address, getJson } from "/web/api.js";
import { clear, colour, h, onTheme } from "../dom.js";
import { densities, turned } from "./density.js";
import { CONFIG, heatColours, layout, plotly } from "./plot.js";

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
    const which = h("select", { hidden: true, "aria-label": `Component of ${name}`, onchange: () => drawHeat(Plotly, plot, { ...own.data, z: own.data.parts[which.selectedIndex] }) });
    const own = { name, plot, which };
    own.box = h("section", { class: "panel chart", "aria-label": name, dataset: { distribution: name } }, h("header", {}, h("h3", { class: "mono" }, name), h("span", { class: "spring" }), which), plot);
    return own;
  });
  clear(element, h("div", { class: "chart-grid wide" }, boxes.map(({ box }) => box)));
  const draw = () => { for (const { data, plot, which } of boxes) if (data) drawHeat(Plotly, plot, data.parts ? { ...data, z: data.parts[Math.max(0, which.selectedIndex)] } : data); };
  const leave = onTheme(draw);
  for (const one of boxes) {
    getJson(address(["runs", run, "distributions", one.name]))
      .then((data) => {
        one.data = data;
        if (data.parts?.length > 1) {
          one.which.hidden = false;
          one.which.replaceChildren(...data.labels.slice(0, data.parts.length).map((label) => h("option", {}, label)));
        }
        drawHeat(Plotly, one.plot, data);
      })
      .catch((error) => clear(one.plot, h("p", { class: "problem" }, error.message)));
  }
  return { destroy() { leave(); for (const { plot } of boxes) Plotly.purge(plot); } };
}

function drawHeat(Plotly, plot, { x, quantiles, labels, z }) {
  const { y, heat, category } = quantiles ? { ...densities(z), category: false } : { y: labels.map(unmarked), heat: turned(z, labels.length), category: true };
  Plotly.react(plot, [{
    type: "heatmap", x, y, z: heat, ...heatColours(heat), showscale: false, hoverongaps: false, zsmooth: false,
    hovertemplate: quantiles ? "%{x} steps, near %{y:.4~g}: %{z:.1%} of all<extra></extra>" : "%{x} steps, %{y}: %{z:.4~g}<extra></extra>",
  }], layout({
    hovermode: "closest", xaxis: { title: { text: "env steps", font: { size: 10.5, color: colour("muted") }, standoff: 4 }, showgrid: false },
    yaxis: { showgrid: false, zeroline: false, ...(category ? { type: "category" } : {}) },
  }), CONFIG);
}

/** plotly reads a few tags in labels; names of a run stay plain. */
function unmarked(label) { return String(label).replace(/[<>&]/g, " "); }
