import assert from "node:assert/strict";
import { test } from "node:test";
import { StepGroup, StepStore } from "../../src/gymnast/inspect/static/js/store.js";

const store = (rows) => new StepStore({ rows });

test("a step stays within the recording and is announced once", () => {
  const one = store(10);
  const seen = [];
  const leave = one.subscribe((step) => seen.push(step));
  one.setStep(4);
  one.setStep(4);
  one.setStep(99);
  one.move(-200);
  leave();
  one.setStep(5);
  assert.deepEqual(seen, [4, 9, 0]);
  assert.equal(one.setStep(Number.NaN), true);
  assert.equal(one.step, 0);
});

test("recordings in a group step together; a shorter one waits at its end", () => {
  const group = new StepGroup();
  const [long, short] = [store(10), store(5)];
  group.add(long);
  group.add(short);
  long.setStep(8);
  assert.deepEqual([long.step, short.step], [8, 4]);
  group.setTogether(false);
  short.setStep(1);
  assert.deepEqual([long.step, short.step], [8, 1]);
  group.setTogether(true); // the active one, which was opened last, leads
  assert.deepEqual([long.step, short.step], [1, 1]);
});

test("a recording that is put in another's place keeps the step", () => {
  const group = new StepGroup();
  const [before, after] = [store(10), store(10)];
  group.add(before);
  before.setStep(7);
  group.replace(before, after);
  assert.equal(after.step, 7);
  assert.equal(group.active, after);
  before.setStep(2); // no longer heard
  assert.equal(after.step, 7);
  group.remove(after);
  assert.equal(group.active, null);
});
