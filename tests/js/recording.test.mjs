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

test("stacked observations repeat the first one at the beginning, as Trace.stack does", () => {
  const recording = sample({ meta: { frame_stack: 3 } });
  assert.deepEqual(recording.stack(0).map((one) => one.row), [0, 0, 0]);
  assert.deepEqual(recording.stack(2).map((one) => [one.row, one.action]), [[0, null], [1, "left"], [2, "right"]]);
  assert.deepEqual(recording.stack(4).map((one) => one.row), [4, 4, 4]); // not across episodes
});

test("frames inside an observation are blank before the first", () => {
  const recording = sample({ meta: { observation_stack: 3 } });
  assert.deepEqual(recording.stack(1).map((one) => [one.frame, one.blank, one.action]),
    [[0, true, null], [1, false, null], [2, false, "left"]]);
});
