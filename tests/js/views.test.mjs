import assert from "node:assert/strict";
import { test } from "node:test";
import { parseOverrides } from "../../src/gymnast/inspect/static/js/pick/overrides.js";
import { factors, marks } from "../../src/gymnast/inspect/static/js/views/actions.js";
import { flatten } from "../../src/gymnast/inspect/static/js/views/info.js";
import { componentBounds } from "../../src/gymnast/inspect/static/js/views/observation.js";
import { imageForm, toRgba } from "../../src/gymnast/inspect/static/js/views/pixels.js";
import { standardStrips } from "../../src/gymnast/inspect/static/js/views/strips.js";
import { firstColumns, textWidth } from "../../src/gymnast/inspect/static/js/views/table.js";
import { visible } from "../../src/gymnast/inspect/static/js/views/window.js";
import { sample } from "./sample.mjs";

test("only the lines in sight are drawn, and the last ones are reached", () => {
  assert.deepEqual(visible(0, 240, 24, 100_000), { first: 0, count: 11 });
  assert.deepEqual(visible(24 * 99_990, 240, 24, 100_000), { first: 99_989, count: 11 });
  assert.deepEqual(visible(0, 240, 24, 3), { first: 0, count: 3 });
  assert.deepEqual(visible(50, -10, 24, 0), { first: 0, count: 0 });
});

test("choices are grouped by factor", () => {
  assert.deepEqual(factors(["left", "right"], ["action"]), [{ name: "", from: 0, labels: ["left", "right"] }]);
  assert.deepEqual(factors(["move=0", "move=1", "jump=0", "jump=1"], ["move", "jump"]).map(({ name, from, labels }) => [name, from, labels.length]),
    [["move", 0, 2], ["jump", 2, 2]]);
  assert.deepEqual(marks([0.1, 0.2, 0.9, 0.3], 1, 2, 0), { greedy: 1, chosen: 0 });
});

test("pictures in any order of axes", () => {
  assert.deepEqual(imageForm([84, 84]), { height: 84, width: 84, channels: 1, last: true });
  assert.deepEqual(imageForm([4, 84, 84]), { height: 84, width: 84, channels: 4, last: false });
  assert.deepEqual(imageForm([210, 160, 3]), { height: 210, width: 160, channels: 3, last: true });
  assert.deepEqual(imageForm([7, 7, 3]), { height: 7, width: 7, channels: 3, last: true });
  assert.equal(imageForm([4]), null);
  const grey = toRgba(Uint8Array.of(0, 128, 255, 64), { height: 2, width: 2, channels: 1, last: true });
  assert.deepEqual([...grey.slice(4, 8)], [128, 128, 128, 255]);
  const rgb = toRgba(Uint8Array.of(255, 0, 0, 0, 0, 255), { height: 1, width: 2, channels: 3, last: true });
  assert.deepEqual([...rgb], [255, 0, 0, 255, 0, 0, 255, 255]);
});

test("bounds are the space's where it has them, otherwise what occurred", () => {
  const recording = sample({ meta: { bounds_of: { obs: { low: [-1, null], high: [20, null] } } } });
  assert.deepEqual(componentBounds(recording, "obs", "", 2), [{ low: -1, high: 20, known: true }, { low: 1, high: 13, known: false }]);
});

test("strips are those that the recording has columns for", () => {
  assert.deepEqual(standardStrips(sample()).map(({ title }) => title), ["Value and return to go", "Reward"]);
  assert.deepEqual(firstColumns(sample()), ["step", "label", "reward", "value"]);
});

test("nested infos are lines", () => {
  assert.deepEqual(flatten({ a: 1, b: { c: [1, 2] } }), [["a", 1], ["b.c", [1, 2]]]);
  assert.deepEqual(flatten(undefined), []);
});

test("overrides are read as on the command line", () => {
  assert.deepEqual(parseOverrides("env.kwargs.gravity=5\n# note\nenv.name=abc\nx=[1,2]\ny=true"),
    { "env.kwargs.gravity": 5, "env.name": "abc", x: [1, 2], y: true });
  assert.throws(() => parseOverrides("gravity"), /key=value/);
  assert.throws(() => parseOverrides("a b=3"), /not the name/);
});

test("columns of text are as wide as what is in them, within limits", () => {
  const of = (labels) => ({ steps: labels.length, isText: (name) => name === "label", cell: (name, step) => labels[step] });
  assert.equal(textWidth(of(["left", "right"]), ["reward", "label"]), 136);
  assert.equal(textWidth(of(["left", "main engine -0.57"]), ["label"]), 139);
  assert.equal(textWidth(of(["TURN_RIGHT+ATTACK"]), ["label"]), 178);
  assert.equal(textWidth(of(["x".repeat(500)]), ["label"]), 260);
});
