import assert from "node:assert/strict";
import { test } from "node:test";
import { actionLabels, breakpoint, eventKeys, next, previous } from "../../src/gymnast/inspect/static/js/breakpoints.js";
import { compile, quoted } from "../../src/gymnast/inspect/static/js/condition.js";
import { sample } from "./sample.mjs";

const holds = (text, values) => compile(text, Object.keys(values))((name) => values[name], 1);

test("conditions: precedence, brackets, texts, arithmetic", () => {
  const values = { value: 5, reward: 0, "obs/cart position": 2, "info/lives": 3, label: "left" };
  assert.equal(holds("value < 10 and reward != 0", values), false);
  assert.equal(holds("value < 10 or reward != 0 and value > 100", values), true);
  assert.equal(holds("not (value < 10)", values), false);
  assert.equal(holds("label == 'left' && info/lives >= 3", values), true);
  assert.equal(holds("`obs/cart position` * 2 + 1 = value", values), true);
  assert.equal(holds("abs(-value) == 5", values), true);
  assert.equal(holds("-value < -4.5e0", values), true);
});

test("a condition that cannot be read says why", () => {
  const names = ["value", "reward"];
  for (const [text, message] of [
    ["", /for example/], ["value <", /ends too early/], ["valeu < 3", /did you mean “value”/],
    ["(value < 3", /closing bracket/], ["value < 3 reward", /“reward” is not expected/], ["value @ 3", /“@” is not understood/],
    ["window.alert(1)", /no column/], ["constructor", /no column/], ["(".repeat(200), /too many brackets/],
  ]) assert.throws(() => compile(text, names), message, text);
});

test("delta looks at the step before", () => {
  const test1 = compile("delta(value) < -5", ["value"]);
  const values = [10, 9, 2];
  assert.deepEqual(values.map((_, step) => test1((_name, at) => values[at], step)), [false, false, true]);
});

test("running to the next reward, event, action and condition, forwards and back", () => {
  const recording = sample();
  const to = (point, from) => next(recording, breakpoint(recording, point), from);
  assert.equal(to({ kind: "reward" }, 0), 2);
  assert.equal(to({ kind: "reward" }, 2), 5);
  assert.equal(to({ kind: "reward" }, 5), -1);
  assert.equal(to({ kind: "value-drop" }, 0), 2); // 9.9 → 3
  assert.equal(to({ kind: "event" }, 0), 2); // a life and the end of the episode
  assert.equal(to({ kind: "event" }, 2), 5); // truncated
  assert.equal(to({ kind: "action", action: "left" }, 0), 4);
  assert.equal(to({ kind: "condition", text: "value < 9 and reward = 0" }, 0), 4);
  assert.equal(previous(recording, breakpoint(recording, { kind: "reward" }), 5), 2);
  assert.throws(() => breakpoint(recording, { kind: "action" }), /Choose an action/);
});

test("a policy without a critic has no value that could drop", () => {
  const recording = sample({ arrays: { value: { data: new Float64Array(7).fill(NaN), shape: [7] } } });
  assert.throws(() => breakpoint(recording, { kind: "value-drop" }), /no critic/);
});

test("names are offered as a condition has to write them", () => {
  const names = ["value", "info/kills", "obs/pole angle", "probability/TURN_LEFT+ATTACK", "Ѱ"];
  assert.deepEqual(names.map(quoted), ["value", "info/kills", "`obs/pole angle`", "`probability/TURN_LEFT+ATTACK`", "Ѱ"]);
  for (const name of names) compile(`${quoted(name)} > 0`, names);
});

test("only keys that change seldom are events", () => {
  const infos = Array.from({ length: 100 }, (_, i) => ({ frame: i, x: i / 7, lives: i < 50 ? 3 : 2, name: "a" }));
  assert.deepEqual(eventKeys(infos), ["lives"]);
  assert.deepEqual(actionLabels(sample()), ["left", "right"]);
});
