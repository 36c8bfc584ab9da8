import assert from "node:assert/strict";
import { test } from "node:test";
import { minMax, padded, range } from "../../src/gymnast/inspect/static/js/decimate.js";

test("a single spike among 100,000 values survives", () => {
  const values = new Float64Array(100_000);
  values[54_321] = 7;
  values[54_322] = -3;
  const { low, high } = minMax(values, 300);
  assert.equal(Math.max(...high), 7);
  assert.equal(Math.min(...low), -3);
});

test("holes stay holes", () => {
  const { low, high, first } = minMax(Float64Array.of(NaN, NaN, 1, 4), 2);
  assert.deepEqual([low[0], high[0], first[0]], [NaN, NaN, NaN]);
  assert.deepEqual([low[1], high[1], first[1]], [1, 4, 1]);
});

test("a range has room, also around a constant, and none is none", () => {
  assert.equal(range([Float64Array.of(NaN)]), null);
  assert.deepEqual(range([[1, 2], [NaN, -4]]), { low: -4, high: 2 });
  const one = padded({ low: 3, high: 3 });
  assert.ok(one.low < 3 && one.high > 3);
});
