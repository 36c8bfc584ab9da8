// The keys, in a dialog.

import { h, iconButton } from "./dom.js";

const KEYS = [
  ["Stepping", [["← →", "one step back, forward"], ["Shift ← →", "ten steps"], ["Home End", "first, last step"], ["Space", "play, pause"],
    ["↑ ↓", "faster, slower; in the table line by line"], ["N P", "to the next, previous breakpoint"]]],
  ["Page", [["1 … 5", "Record, Step, Network, Training, Sweeps"], ["/", "search runs"], ["[", "show or hide the runs"], ["T", "light, dark"], ["?", "this help"], ["Esc", "close"]]],
];

export function helpDialog() {
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" });
  dialog.append(
    h("header", {}, h("h2", {}, "Keys"), iconButton("close", "Close", () => dialog.close())),
    h("div", { class: "help-columns" }, KEYS.map(([title, lines]) => h("section", {}, h("h3", {}, title),
      h("dl", {}, lines.map(([keys, text]) => h("div", {}, h("dt", {}, keys.split(" ").map((key) => (key === "…" ? key : h("kbd", {}, key)))), h("dd", {}, text))))))),
    h("p", { class: "muted small" }, "A click on a curve, the slider or a line of the table moves every view to that step."));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  return dialog;
}
