// plotly.js, loaded from the installed package when a picture is first needed, in the colours of the page.

import { colour } from "../dom.js";

let loading = null;

export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    allowStyles();
    const script = document.createElement("script");
    script.src = "/plotly.min.js";
    const usual = withoutStyles();
    script.onload = () => { usual(); resolve(window.Plotly); };
    script.onerror = () => {
      usual();
      loading = null;
      reject(new Error("The charts cannot be drawn: plotly is not installed. Install it with: pip install 'gymnast[inspect]'"));
    };
    document.head.append(script);
  });
  return loading;
}

/**
 * plotly.js writes some styles as attributes, which the page's content policy refuses. The same text set through the
 * style object is allowed, and means the same.
 */
function allowStyles() {
  const usual = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function setAttribute(name, value) {
    if (name === "style" && this.style) this.style.cssText = value;
    else usual.call(this, name, value);
  };
}

/**
 * While its script runs, plotly.js adds a <style> for maps, which the content policy refuses with an error in the
 * console. No map is drawn here: until the returned function is called, such an element is one without effect.
 */
function withoutStyles() {
  const usual = document.createElement;
  document.createElement = function createElement(name, ...rest) {
    return usual.call(this, name === "style" ? "template" : name, ...rest);
  };
  return () => { document.createElement = usual; };
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

/** Colours of a heat map: from the panel's own for nothing, or on both sides of zero where there are negatives. */
export function heatColours(rows) {
  const signed = rows.some((row) => row.some((value) => value < 0));
  if (signed) return { colorscale: [[0, colour("series-2")], [0.5, colour("panel")], [1, colour("series-1")]], zmid: 0 };
  return { colorscale: [[0, colour("panel")], [0.5, colour("series-1")], [1, colour("series-4")]], zmin: 0 };
}
