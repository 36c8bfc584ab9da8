// The curves of a recording: value against what was really earned, advantage, rewards and their parts, memory, and any
// other column that is asked for.

import { clear, h, iconButton } from "../dom.js";
import { mountStrip } from "./strip.js";

const SERIES = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"];

/** Which strips a recording has by itself: [{title, help, series: [{column, …}]}]. */
export function standardStrips(recording) {
  const has = (name) => recording.has(name);
  const strips = [];
  if (has("value")) {
    strips.push({
      title: "Value and return to go", help: "What the critic expects, and the discounted rewards that really followed.",
      series: [{ column: "value", colour: "series-1" }, { column: "return_to_go", name: "return to go", colour: "series-2" }],
    });
    strips.push({
      title: "Advantage", help: "How much better the action was than the baseline (GAE with the γ and λ above).",
      series: [
        { column: "advantage", colour: "series-3", negative: "bad", kind: "bars" },
        { column: "td_error", name: "TD error", colour: "series-4" },
      ],
    });
  } else if (has("return_to_go")) {
    strips.push({ title: "Return to go", help: "Without a critic there is no value and no advantage.", series: [{ column: "return_to_go", name: "return to go", colour: "series-2" }] });
  }
  const parts = recording.under("reward_part");
  strips.push({
    title: parts.length ? "Reward and its parts" : "Reward",
    series: [
      { column: "reward", colour: "series-6", negative: "bad", kind: "bars" },
      ...parts.slice(0, 5).map((part, index) => ({ column: `reward_part/${part}`, name: part, colour: SERIES[index % 5] })),
    ],
  });
  if (has("baseline") && has("return_so_far")) {
    strips.push({
      title: "Return so far and baseline",
      series: [{ column: "return_so_far", name: "so far", colour: "series-5" }, { column: "baseline", colour: "series-1" }],
    });
  }
  strips.push({
    title: has("probability") ? "Probability of the action, entropy" : "Entropy",
    series: [
      has("probability") && { column: "probability", colour: "series-1" },
      { column: "entropy", colour: "series-4" },
    ].filter(Boolean),
  });
  const memory = recording.under("memory_norm");
  if (memory.length) {
    strips.push({
      title: "Recurrent state (norms)", help: "L2 norm of each recurrent state after acting.",
      series: memory.slice(0, 6).map((name, index) => ({ column: `memory_norm/${name}`, name, colour: SERIES[index % 6] })),
    });
  }
  return strips.map((strip) => ({ ...strip, series: strip.series.filter(({ column }) => has(column) && !recording.isText(column)) }))
    .filter((strip) => strip.series.length);
}

export function mountStrips(element, store) {
  const { recording } = store;
  const list = h("div", { class: "strips" });
  const mounted = new Set();
  const add = (strip, own = false) => {
    const place = h("div", { class: "strip-place" });
    const view = mountStrip(place, store, {
      ...strip,
      series: strip.series.map((one) => ({ name: one.name ?? one.column, ...one, values: recording.column(one.column) })),
    });
    mounted.add(view);
    if (own) {
      place.querySelector(".strip-head").append(iconButton("close", `Remove ${strip.title}`, () => {
        view.destroy();
        mounted.delete(view);
        place.remove();
      }));
    }
    list.append(place);
    return place;
  };
  standardStrips(recording).forEach((strip) => add(strip));
  const columns = recording.columns.filter((name) => !recording.isText(name));
  const choose = h("select", { "aria-label": "Add a curve of another column", onchange: () => {
    if (!choose.value) return;
    const place = add({ title: choose.value, series: [{ column: choose.value, colour: "series-1" }] }, true);
    choose.value = "";
    place.scrollIntoView({ block: "nearest" });
  } }, h("option", { value: "" }, "Add a curve…"), columns.map((name) => h("option", { value: name }, name)));
  element.append(list);
  return {
    control: choose,
    destroy() { for (const view of mounted) view.destroy(); clear(element); },
  };
}
