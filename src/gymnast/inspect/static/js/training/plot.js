// plotly.js, loaded from the installed package when a picture is first needed, in the colours of the page.

import { colour } from "../dom.js";

let loading = null;

export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error("The charts cannot be drawn: plotly is not installed. Install it with: pip install 'gymnast[inspect]'"));
    };
    document.head.append(script);
  });
  return loading;
}

export const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];

/** A layout without ornament. */
export function layout(extra = {}) {
  const axis = {
    gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), tickfont: { size: 10.5, color: colour("muted") },
    automargin: true, nticks: 6,
  };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "x",
    margin: { l: 44, r: 10, t: 6, b: 30 }, font: { family: "system-ui, sans-serif", size: 11.5, color: colour("text") },
    hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("line"), font: { color: colour("text"), size: 11.5 } },
    dragmode: "zoom",
    ...extra,
    xaxis: { ...axis, ...extra.xaxis },
    yaxis: { ...axis, ...extra.yaxis },
  };
}

export const CONFIG = { displayModeBar: false, responsive: true, displaylogo: false };

/** A scale from the panel's colour to the accent, for heat maps. */
export function scale() {
  return [[0, colour("panel")], [0.02, colour("heat-low") || colour("line")], [0.35, colour("series-1")], [1, colour("series-2")]];
}
