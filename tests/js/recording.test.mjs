import assert from "node:assert/strict";
import { test } from "node:test";
import { sample } from "./sample.mjs";

test("rows and lines of the table find each other", () => {
  const recording = sample();
  assert.deepEqual([...recording.stepOfRow], [0, 1, 2, -1, 3, 4, -1]);
  assert.equal(recording.isLast(3), true);
  assert.equal(recording.label(4), "left");
  assert.equal(recording.label(3), "");
  assert.deepEqual([...recording.column("reward")], [0, 0, 5, NaN, 0, -1, NaN]);
  assert.equal(recording.column("nothing"), null);
  assert.equal(recording.ended(2), "terminated");
  assert.equal(recording.ended(5), "truncated");
});

test("what the network reads is found where it equals the observation", () => {
  const recording = sample();
  assert.deepEqual([...recording.row("seen", 1)], [2, 3]);
  assert.deepEqual(recording.shape("seen"), [2]);
  assert.deepEqual(recording.parts("seen"), [["", "seen"]]);
  assert.equal(recording.row("missing", 0), null);
});

test("parts of an observation are in the same order, however the file has them", () => {
  const part = { data: new Float32Array(14), shape: [7, 2] };
  for (const names of [["obs/screen", "obs/health"], ["obs/health", "obs/screen"]]) {
    const recording = sample({ arrays: { obs: undefined, ...Object.fromEntries(names.map((name) => [name, part])) } });
    assert.deepEqual(recording.parts("obs").map(([name]) => name).filter(Boolean), ["health", "screen"]);
  }
});

test("components of a part are named by the setting that lists them", () => {
  const recording = sample({ arrays: { "obs/variables": { data: new Float32Array(14), shape: [7, 2] } } });
  recording.namePartsBy({ "env.doom.variables": ["AMMO2", "HEALTH"], "env.rewards.variables": {}, "policy.variables": ["a", "b"] });
  assert.deepEqual(recording.componentNames("obs/variables", 2), ["AMMO2", "HEALTH"]);
  assert.equal(recording.componentNames("obs", 2), null);
  const other = sample({ arrays: { "obs/variables": { data: new Float32Array(14), shape: [7, 2] } } });
  other.namePartsBy({ "env.doom.variables": ["HEALTH"] });
  assert.equal(other.componentNames("obs/variables", 2), null);
});

test("stacked frames come with the action that led to each", () => {
  const index = { data: Int32Array.from({ length: 14 }, (_, i) => Math.floor(i / 2) - 1 + (i % 2)), shape: [7, 2] };
  const recording = sample({ arrays: { "stack/index": index }, texts: { "stack/action": Array.from({ length: 14 }, (_, i) => (i < 2 ? "" : `a${i}`)) } });
  assert.deepEqual(recording.stack(0), [{ row: -1, action: null }, { row: 0, action: null }]);
  assert.deepEqual(recording.stack(2), [{ row: 1, action: "a4" }, { row: 2, action: "a5" }]);
});

test("without a stack it is the observation alone", () => {
  const recording = sample();
  assert.deepEqual(recording.stack(0), [{ row: 0, action: null }]);
  assert.deepEqual(recording.stack(2), [{ row: 2, action: "right" }]);
});
