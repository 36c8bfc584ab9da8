// The table of steps. Only the lines in sight are elements, so that 100,000 steps scroll as ten do.

import { clear, h, onResize, setText } from "../dom.js";
import { number } from "../format.js";
import { visible } from "./window.js";

const LINE = 24;

const MOST = 40; // columns; of a policy with many choices or a large observation the file has the rest

/** The columns that are shown, what is asked for most first. */
export function firstColumns(recording) {
  const wanted = ["episode", "step", "label", "reward", "return_so_far", "value", "return_to_go", "advantage", "td_error",
    "probability", "log_prob", "entropy"];
  const own = wanted.filter((name) => recording.has(name));
  const rest = recording.columns.filter((name) => !own.includes(name) && name !== "action" && name !== "baseline");
  return [...own, ...rest].slice(0, MOST);
}

/** Of the columns of text, in pixels: as wide as what is in them, within limits. */
export function textWidth(recording, columns) {
  let longest = 0;
  for (const name of columns.filter((own) => recording.isText(own))) {
    for (let step = 0; step < recording.steps; step += 1) longest = Math.max(longest, widthOf(String(recording.cell(name, step))));
  }
  return Math.round(Math.min(260, Math.max(136, 20 + longest)));
}

/** About, in pixels: capitals and signs are wider. */
function widthOf(text) {
  return 7 * text.length + 2.3 * (text.match(/[A-Z+_]/g)?.length ?? 0);
}

export function mountTable(element, store) {
  const { recording } = store;
  const columns = firstColumns(recording);
  const head = h("div", { class: "table-line table-head", role: "row" },
    columns.map((name) => h("span", { role: "columnheader", title: name, class: recording.isText(name) ? "text" : "" }, name)));
  const lines = h("div", { class: "table-lines" });
  const space = h("div", { class: "table-space" }, lines);
  const scroller = h("div", {
    class: "table-scroll", role: "grid", tabindex: "0", "aria-label": "Steps", "aria-rowcount": recording.steps, dataset: { keys: "own" },
  }, head, space);
  space.style.height = `${recording.steps * LINE}px`;
  scroller.style.setProperty("--text", `${textWidth(recording, columns)}px`);
  element.append(scroller);
  const pool = [];
  let first = -1;
  // Measured when they change: asking at every step would lay the page out again.
  let height = 0;
  let scrolled = 0;

  const fill = (line, step) => {
    line.dataset.step = String(step);
    line.style.transform = `translateY(${step * LINE}px)`;
    line.setAttribute("aria-rowindex", String(step + 1));
    columns.forEach((name, index) => {
      const value = recording.cell(name, step);
      setText(line.children[index], typeof value === "string" ? value : number(value));
    });
  };
  const render = () => {
    const window = visible(scrolled, height, LINE, recording.steps);
    while (pool.length < window.count) {
      const line = h("div", { class: "table-line", role: "row" },
        columns.map((name) => h("span", { role: "gridcell", class: recording.isText(name) ? "text" : "" })));
      line.addEventListener("click", () => store.setStep(recording.rowOfStep[Number(line.dataset.step)]));
      pool.push(line);
      lines.append(line);
      first = -1;
    }
    if (first !== window.first) {
      first = window.first;
      pool.forEach((line, index) => {
        line.hidden = index >= window.count;
        if (!line.hidden) fill(line, window.first + index);
      });
    }
    mark();
  };
  const mark = () => {
    const shown = recording.stepOfRow[store.step];
    for (const line of pool) {
      const is = Number(line.dataset.step) === shown && !line.hidden;
      if (line.classList.contains("shown") !== is) {
        line.classList.toggle("shown", is);
        line.setAttribute("aria-selected", String(is));
      }
    }
  };
  const follow = (row) => {
    // An episode's last observation has no line: the last action that led to it stays in sight.
    const step = recording.stepOfRow[row] >= 0 ? recording.stepOfRow[row] : recording.stepOfRow[row - 1] ?? 0;
    const top = step * LINE;
    if (top < scrolled || top + LINE > scrolled + height) {
      const most = Math.max(0, recording.steps * LINE - height);
      scrolled = Math.min(most, Math.max(0, top - Math.floor(height / 2 / LINE) * LINE));
      scroller.scrollTop = scrolled;
    }
    render();
    element.dataset.row = String(row);
  };
  const measure = () => {
    height = scroller.clientHeight - LINE;
    scrolled = scroller.scrollTop;
    render();
  };
  scroller.addEventListener("scroll", () => { scrolled = scroller.scrollTop; render(); }, { passive: true });
  measure();
  follow(store.step);
  const leave = [store.subscribe(follow), onResize(scroller, measure)];
  const all = recording.columns.length;
  const control = columns.length < MOST ? null : h("span", { class: "small muted" }, `${columns.length} of ${all} columns; the CSV has all`);
  return { control, destroy() { leave.forEach((fn) => fn()); clear(element); } };
}
