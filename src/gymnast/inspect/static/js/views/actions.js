// What the policy would do: probabilities of every choice, or the mean and spread of real numbers.

import { h, setText } from "../dom.js";
import { number, percent } from "../format.js";
import { range } from "../decimate.js";

const MOST = 64; // choices that are listed; of more, the likeliest

export function mountActions(element, store) {
  const { recording } = store;
  const { choices = [], numbers = [] } = recording.meta;
  const views = [];
  const note = h("span", { class: "small muted", title: "On an episode's last observation nothing is decided any more." }, ""); // beside the title: nothing moves
  if (choices.length && recording.arrays.probabilities) views.push(choiceBars(element, recording, choices));
  if (numbers.length && recording.arrays.mean) views.push(gaussians(element, recording, numbers));
  if (!views.length) element.append(h("p", { class: "nothing" }, "The recording does not say how the action was chosen."));
  const show = (step) => {
    const last = recording.isLast(step);
    element.classList.toggle("undecided", last);
    setText(note, last ? "ended: nothing was decided" : "");
    for (const view of views) view.show(step, last);
    element.dataset.row = String(step);
  };
  show(store.step);
  return { control: note, destroy: store.subscribe(show) };
}

/** Choices by factor: `[{name, from, labels}]`. A factored action's choices are called `NAME=CHOICE`. */
export function factors(choices, actionNames = []) {
  if (actionNames.length < 2 && !choices.every((choice) => /=\d+$/.test(choice))) {
    return [{ name: "", from: 0, labels: choices }];
  }
  const found = [];
  choices.forEach((choice, index) => {
    const cut = choice.lastIndexOf("=");
    const name = cut < 0 ? "" : choice.slice(0, cut);
    if (found.at(-1)?.name !== name) found.push({ name, from: index, labels: [] });
    found.at(-1).labels.push(cut < 0 ? choice : choice.slice(cut + 1));
  });
  return found;
}

/** A label that is broken between its words where it is too long for one line. */
function breakable(label) {
  return label.split(/(?<=[+_/])/).flatMap((word, index) => (index ? [h("wbr"), word] : [word]));
}

/** For one factor's probabilities: which was chosen, which is likeliest. */
export function marks(probabilities, from, count, chosen) {
  let greedy = 0;
  for (let index = 1; index < count; index += 1) {
    if (probabilities[from + index] > probabilities[from + greedy]) greedy = index;
  }
  return { greedy, chosen };
}

function choiceBars(element, recording, choices) {
  const groups = factors(choices, recording.meta.action_names);
  const discrete = groups.map((group) => Math.max(0, (recording.meta.action_names ?? []).indexOf(group.name)));
  const masks = recording.arrays.mask ? (row) => recording.row("mask", row) : () => null;
  const bars = groups.map((group) => {
    const list = h("div", { class: "bars", role: "list", "aria-label": group.name || "Action probabilities" });
    if (group.name) element.append(h("h4", { class: "part" }, group.name));
    element.append(list);
    const shown = Math.min(group.labels.length, MOST);
    if (group.labels.length > MOST) element.append(h("p", { class: "small muted" }, `The first ${MOST} of ${group.labels.length} choices.`));
    return group.labels.slice(0, shown).map((label) => {
      const fill = h("i");
      const share = h("span", { class: "number" });
      const tags = h("span", { class: "tags" });
      const line = h("div", { class: "bar", role: "listitem" }, h("span", { class: "name", title: label }, breakable(label)),
        h("span", { class: "track" }, fill, tags), share);
      list.append(line);
      return { fill, share, tags, line };
    });
  });
  return {
    show(step, last) {
      const probabilities = recording.row("probabilities", step);
      const action = recording.row("action", step);
      const mask = masks(step);
      groups.forEach(({ from, labels }, index) => {
        const { greedy, chosen } = marks(probabilities, from, labels.length, Number(action?.[discrete[index]]));
        bars[index].forEach(({ fill, share, tags, line }, choice) => {
          const p = last ? 0 : probabilities[from + choice];
          const allowed = last || !mask || mask[from + choice];
          fill.style.transform = `scaleX(${p})`;
          if (!last && choice === chosen) tags.style.setProperty("--share", p.toFixed(4));
          setText(share, last ? "–" : allowed ? percent(p) : "masked");
          const is = { chosen: !last && choice === chosen, greedy: !last && choice === greedy, masked: !allowed };
          const key = `${is.chosen}${is.greedy}${is.masked}`;
          if (line.dataset.key === key) return;
          line.dataset.key = key;
          for (const [name, on] of Object.entries(is)) line.classList.toggle(name, on);
          setText(tags, [is.chosen && "chosen", is.greedy && "greedy"].filter(Boolean).join(" · "));
          tags.dataset.words = tags.textContent;
          tags.hidden = !tags.textContent;
        });
      });
    },
  };
}

function gaussians(element, recording, numbers) {
  const size = numbers.length;
  const names = recording.meta.action_names ?? numbers;
  const { mean, std, action, raw_action: raw } = recording.arrays;
  const width = action.shape[1];
  const lines = numbers.map((name, index) => {
    const column = Math.max(0, names.indexOf(name));
    const bounds = scaleOf(mean.data, std.data, (raw ?? action).data, size, index, width, column, recording.rowOfStep);
    const band = h("i", { class: "band" });
    const middle = h("i", { class: "mean" });
    const taken = h("i", { class: "taken" });
    const text = h("span", { class: "number" });
    const value = h("strong", { class: "number" });
    element.append(h("div", { class: "gaussian" },
      h("span", { class: "name", title: name }, name), value,
      h("span", { class: "axis", title: `${number(bounds.low)} to ${number(bounds.high)}` }, band, middle, taken), text));
    return { column, bounds, band, middle, taken, text, value };
  });
  element.append(h("p", { class: "small muted legend-line" }, "Band: mean ± one standard deviation. Mark: what was chosen."));
  return {
    show(step, last) {
      const [m, s] = [recording.row("mean", step), recording.row("std", step)];
      const chosen = recording.row(raw ? "raw_action" : "action", step);
      const given = recording.row("action", step);
      lines.forEach(({ column, bounds, band, middle, taken, text, value }, index) => {
        const place = (x) => Math.max(0, Math.min(100, (100 * (x - bounds.low)) / (bounds.high - bounds.low)));
        const [from, to] = [place(m[index] - s[index]), place(m[index] + s[index])];
        band.style.left = `${from}%`;
        band.style.width = `${Math.max(0.5, to - from)}%`;
        middle.style.left = `${place(m[index])}%`;
        taken.style.left = `${place(chosen[column])}%`;
        setText(value, last ? "–" : number(given[column]));
        setText(text, last ? "–" : `mean ${number(m[index])}, std ${number(s[index])}`);
      });
    },
  };
}

function scaleOf(mean, std, chosen, size, index, width, column, rows) {
  const values = [];
  for (const row of rows) {
    const [m, s] = [mean[row * size + index], std[row * size + index]];
    values.push(m - 2 * s, m + 2 * s, chosen[row * width + column]);
  }
  const found = range([values]) ?? { low: -1, high: 1 };
  return found.high > found.low ? found : { low: found.low - 1, high: found.high + 1 };
}
