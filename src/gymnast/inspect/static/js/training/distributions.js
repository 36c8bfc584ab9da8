// Distributions over time as heat maps.

import { address, getJson } from "/web/api.js";
import { clear, colour, h, onTheme } from "../dom.js";
import { sentence } from "../format.js";
import { densities, turned } from "./density.js";
import { CONFIG, heatColours, layout, plotly } from "./plot.js";

const EACH = 16; // labels that have room beside a heat map; of more, plotly leaves some out

export async function mountDistributions(element, run) {
  const kept = () => getJson(address(["runs", run, "distributions"]));
  const { names, rows: first } = await kept();
  if (!names.length) {
    clear(element, h("p", { class: "nothing" }, "This run has kept no distributions. `observe.distributions` in its config switches them on."));
    return { outdated: async () => (await kept()).names.length > 0 };
  }
  let known = first; // updates that are drawn
  let left = false;
  const Plotly = await plotly();
  const boxes = names.map((name) => {
    const plot = h("div", { class: "plot tall" });
    const which = h("select", { hidden: true, "aria-label": `Component of ${name}`, onchange: () => drawHeat(Plotly, plot, shown(own)) });
    const own = { name, plot, which };
    own.box = h("section", { class: "panel chart", "aria-label": name, dataset: { distribution: name } }, h("header", {}, h("h3", { class: "mono" }, name), h("span", { class: "spring" }), which), plot);
    return own;
  });
  clear(element, h("div", { class: "chart-grid wide" }, boxes.map(({ box }) => box)));
  const shown = ({ data, which }) => (data.parts ? { ...data, z: data.parts[Math.max(0, which.selectedIndex)] } : data);
  const draw = () => { for (const one of boxes) if (one.data) drawHeat(Plotly, one.plot, shown(one)); };
  const leave = onTheme(draw);
  const load = () => Promise.all(boxes.map((one) => getJson(address(["runs", run, "distributions", one.name]))
    .then((data) => {
      if (left || one.data?.x.at(-1) === data.x.at(-1)) return;
      const isNew = !one.data;
      one.data = data;
      if (isNew && data.parts?.length > 1) {
        one.which.hidden = false;
        one.which.replaceChildren(...data.labels.slice(0, data.parts.length).map((label) => h("option", {}, label)));
      }
      drawHeat(Plotly, one.plot, shown(one));
    })
    .catch((error) => { if (!one.data) clear(one.plot, h("p", { class: "problem" }, sentence(error.message))); })));
  load();
  return {
    /** The run has moved on: fetch what it has observed since, if anything. */
    async update() {
      const { rows } = await kept();
      if (rows === known) return;
      known = rows;
      await load();
    },
    destroy() {
      left = true;
      leave();
      for (const { plot } of boxes) Plotly.purge(plot);
    },
  };
}

function drawHeat(Plotly, plot, { x, quantiles, labels, z }) {
  const { y, heat, category } = quantiles ? { ...densities(z), category: false } : { y: labels.map(unmarked), heat: turned(z, labels.length), category: true };
  Plotly.react(plot, [{
    type: "heatmap", x, y, z: heat, ...heatColours(heat), showscale: false, hoverongaps: false, zsmooth: false,
    hovertemplate: quantiles ? "%{x} steps, near %{y:.4~g}: %{z:.1%} of all<extra></extra>" : "%{x} steps, %{y}: %{z:.4~g}<extra></extra>",
  }], layout({
    hovermode: "closest", xaxis: { title: { text: "env steps", font: { size: 10.5, color: colour("muted") }, standoff: 4 }, showgrid: false },
    yaxis: { showgrid: false, zeroline: false, ...(category ? { type: "category", dtick: y.length <= EACH ? 1 : undefined } : {}) },
  }), CONFIG);
}

/** plotly reads a few tags in labels; names of a run stay plain. */
function unmarked(label) { return String(label).replace(/[<>&]/g, " "); }
