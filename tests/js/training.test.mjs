import assert from "node:assert/strict";
import { test } from "node:test";
import { densities, turned } from "../../src/gymnast/inspect/static/js/training/density.js";
import { AXES, groups, Series } from "../../src/gymnast/inspect/static/js/training/series.js";
import { differences } from "../../src/gymnast/inspect/static/js/training/settings.js";

test("rows that arrive later are appended, also for a metric that is new", () => {
  const series = new Series("r");
  series.add({ columns: { "time/env_steps": [1, 2], "train/kl": [0.1, null] }, next: "10" });
  series.add({ columns: { "time/env_steps": [3], "eval/return/mean": [7] }, next: "20" });
  assert.equal(series.next, "20");
  assert.deepEqual(series.columns["eval/return/mean"], [null, null, 7]);
  assert.deepEqual(series.columns["train/kl"], [0.1, null, null]);
  assert.deepEqual(series.points("eval/return/mean", "steps"), { x: [3], y: [7] });
  assert.deepEqual(series.points("nothing", "steps"), { x: [], y: [] });
  series.add({ columns: { "time/env_steps": [1] }, next: "5", reset: true });
  assert.deepEqual(series.columns, { "time/env_steps": [1] });
});

test("a step is found on every axis", () => {
  const series = new Series("r");
  series.add({ columns: { "time/env_steps": [100, 200], "time/seconds": [1, 3], "time/vec_steps": [25, 50], "time/updates": [1, 2] }, next: "1" });
  assert.equal(series.at(150, "time"), 3);
  assert.equal(series.at(150, "steps"), 150);
  assert.deepEqual(Object.keys(AXES).map((axis) => series.at(200, axis)), [50, 200, 2, 3]);
  assert.equal(series.at(900, "vector"), 50);
});

test("metrics are grouped, and empty ones left out", () => {
  const series = new Series("r");
  series.add({ columns: { "time/env_steps": [1], "train/kl": [1], "train/none": [null], "opt/lr": [2] }, next: "1" });
  assert.deepEqual(groups([series]), [["overview", ["train/kl"]], ["train", ["train/kl"]], ["opt", ["opt/lr"]]]);
});

test("quantiles become shares that sum to one", () => {
  const { y, heat } = densities([[0, 1, 2, 3, 4], [2, 2, 2, 2, 2], [null, null, null, null, null]], 8);
  assert.equal(y.length, 8);
  const sums = [0, 1].map((time) => heat.reduce((sum, bin) => sum + bin[time], 0));
  for (const sum of sums) assert.ok(Math.abs(sum - 1) < 1e-9);
  assert.equal(heat[0][2], null);
  assert.deepEqual(densities([]), { y: [], heat: [] });
  assert.deepEqual(turned([[1, 2], [3, 4]], 2), [[1, 3], [2, 4]]);
});

test("settings that differ between runs", () => {
  assert.deepEqual(differences([{ a: 1, b: [1] }, { a: 2, b: [1], c: 0 }]),
    [{ key: "a", values: [1, 2] }, { key: "c", values: [undefined, 0] }]);
});
