import assert from "node:assert/strict";
import test from "node:test";

import { Questions } from "../../src/gymnast/inspect/static/js/views/network_ask.js";
import {
  beside, blendRgba, boxOf, centre, gridFor, heatRgba, pictureRgba, rgb, scaleOf, shareText, spread, strongest, strongestInput,
  sumFrames, unitAt, winner,
} from "../../src/gymnast/inspect/static/js/views/network_maths.js";

const NATURE = { size: [36, 36], jump: [8, 8], start: [0, 0] }; // the third layer, on 84 × 84 pixels

test("a unit's box and centre are those of its receptive field", () => {
  assert.deepEqual(boxOf(NATURE, 6, 0, 84, 84), { top: 48, left: 0, bottom: 84, right: 36 });
  assert.equal(centre(NATURE, 0, 0), 18);
  const padded = { size: [5, 5], jump: [2, 2], start: [-2, -2] };
  assert.deepEqual(boxOf(padded, 0, 5, 12, 12), { top: 0, left: 8, bottom: 3, right: 12 });
});

test("a pixel belongs to the unit that sees it in its middle", () => {
  assert.equal(unitAt(NATURE, 0, 18, 7), 0);
  assert.equal(unitAt(NATURE, 0, 27, 7), 1);
  assert.equal(unitAt(NATURE, 0, 0, 7), 0);
  assert.equal(unitAt(NATURE, 1, 83, 7), 6);
});

test("a map is spread around the centres of what its units see", () => {
  const map = new Float32Array(49);
  map[0] = 1; // the unit at the top left
  const wide = spread(map, [7, 7], NATURE, 84, 84);
  assert.equal(wide.length, 84 * 84);
  assert.equal(wide[0], 1); // level beyond the outermost centre
  assert.ok(Math.abs(wide[17 * 84 + 17] - 1) < 1e-6);
  const between = wide[10 * 84 + 22]; // columns: pixel 22.5 is 4.5 of 8 towards the next centre
  assert.ok(Math.abs(between - (1 - 4.5 / 8)) < 1e-6);
  assert.equal(wide[40 * 84 + 40], 0);
});

test("without a field a map is stretched over the image", () => {
  const out = spread(Float32Array.of(0, 1), [1, 2], null, 2, 4);
  assert.deepEqual([...out.subarray(0, 4)], [0, 0.25, 0.75, 1]);
  assert.deepEqual([...spread(Float32Array.of(5), [1, 1], null, 2, 2)], [5, 5, 5, 5]);
});

test("a scale that one bright pixel does not set", () => {
  const values = Float32Array.from({ length: 1000 }, (_, i) => (i === 500 ? -100 : 1));
  assert.equal(scaleOf(values), 100);
  assert.equal(scaleOf(values, 0.99), 1);
  assert.equal(scaleOf(values, 1, true), 1);
  assert.equal(scaleOf(Float32Array.of(0, 0, 0, 3), 0.5), 3); // mostly nothing: the largest
  assert.equal(scaleOf([]), 0);
});

test("heat has the sign's colour and is as opaque as it is large", () => {
  const colours = { positive: [255, 0, 0], negative: [0, 0, 255] };
  const out = heatRgba(Float32Array.of(2, -1, 0), 2, colours);
  assert.deepEqual([...out.subarray(0, 4)], [255, 0, 0, 255]);
  assert.deepEqual([...out.subarray(4, 7)], [0, 0, 255]);
  assert.ok(out[7] > 100 && out[7] < 200);
  assert.equal(out[11], 0);
  assert.equal(heatRgba(Float32Array.of(-1), 1, { ...colours, positiveOnly: true })[3], 0);
  assert.equal(heatRgba(Float32Array.of(1), 0, colours)[3], 0);
});

test("blending goes from the colour of zero to those of both signs", () => {
  const out = blendRgba(Float32Array.of(0, 1, -9), 1, [10, 10, 10], [200, 0, 0], [0, 0, 200]);
  assert.deepEqual([...out], [10, 10, 10, 255, 200, 0, 0, 255, 0, 0, 200, 255]);
});

test("grey and coloured pictures", () => {
  assert.deepEqual([...pictureRgba(Uint8Array.of(7, 9), 1)], [7, 7, 7, 255, 9, 9, 9, 255]);
  assert.deepEqual([...pictureRgba(Uint8Array.of(1, 2, 3), 3)], [1, 2, 3, 255]);
  assert.deepEqual(rgb("#ff8000"), [255, 128, 0]);
  assert.deepEqual(rgb("red"), [128, 128, 128]);
});

test("frames are summed pixel by pixel", () => {
  assert.deepEqual([...sumFrames(Float32Array.of(1, 2, 10, 20, 100, 200), 3)], [111, 222]);
});

test("the strongest components come first, with their names and inputs", () => {
  const found = strongest(["a", "b", "c"], [0.1, -3, 2], [7, 8, 9], 2);
  assert.deepEqual(found.map(({ name, value, input }) => [name, value, input]), [["b", -3, 8], ["c", 2, 9]]);
  assert.deepEqual(strongest(["a", "b", "c"], [0.1, -3, 2], [7, 8, 9], 2, [0, 2]).map(({ name }) => name), ["c", "a"]);
});

test("numbers beside pixels are found in every stacked observation", () => {
  assert.deepEqual(beside({ from: 1, to: 3, of: 4 }, 8), [0, 3, 4, 7]);
  assert.deepEqual(beside({ from: 0, to: 4, of: 4 }, 8), []);
  assert.deepEqual(beside(undefined, 8), []);
});

test("winners, strongest inputs, grids and shares", () => {
  assert.equal(winner([0, 2, 1]), 1);
  assert.equal(winner([0, -1]), -1);
  assert.equal(strongestInput(Float32Array.of(1, 1, -3, 0, 2, 2), 3, 2), 1);
  assert.deepEqual(gridFor(64, 400, 400), { columns: 8, rows: 8 });
  assert.deepEqual(gridFor(1, 400, 100), { columns: 1, rows: 1 });
  assert.deepEqual(gridFor(32, 700, 330), { columns: 8, rows: 4 });
  assert.deepEqual(gridFor(6, 100, 600), { columns: 1, rows: 6 });
  assert.equal(shareText(0, 64), "none");
  assert.equal(shareText(2, 64), "2 of 64 (3.1 %)");
  assert.equal(shareText(32, 64), "32 of 64 (50 %)");
});

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

test("an answer is asked for once, a failure again", async () => {
  let asked = 0;
  const questions = new Questions(async ({ step }) => {
    asked += 1;
    if (step === 13 && asked < 3) throw new Error("not yet");
    return step;
  });
  assert.equal(await questions.get({ step: 1 }), 1);
  assert.equal(await questions.get({ step: 1 }), 1);
  assert.equal(asked, 1);
  await assert.rejects(questions.get({ step: 13 }), /not yet/);
  assert.equal(await questions.get({ step: 13 }), 13);
});

test("while steps follow each other quickly only the last one is asked about", async () => {
  const asked = [];
  const given = [];
  const questions = new Questions(async ({ step }) => { asked.push(step); return step; }, { wait: 30 });
  await new Promise((resolve) => {
    const note = (answer) => { given.push(answer); resolve(); };
    for (let step = 0; step < 20; step += 1) questions.soon("heat", { step }, note);
  });
  assert.deepEqual(asked, [19]);
  assert.deepEqual(given, [19]);
  questions.wait = 1e9; // what is known is handed over without waiting
  await new Promise((resolve) => { questions.soon("heat", { step: 19 }, (answer) => { given.push(answer); resolve(); }); });
  assert.deepEqual(given, [19, 19]);
  assert.equal(asked.length, 1);
});

test("an answer that came too late is not handed over", async () => {
  const given = [];
  const questions = new Questions(async ({ step }) => { await pause(step === 1 ? 40 : 2); return step; }, { wait: 1 });
  questions.soon("heat", { step: 1 }, (answer) => given.push(answer));
  await pause(10);
  questions.soon("heat", { step: 2 }, (answer) => given.push(answer));
  await pause(60);
  assert.deepEqual(given, [2]);
  questions.soon("heat", { step: 3 }, (answer) => given.push(answer));
  questions.end();
  await pause(20);
  assert.deepEqual(given, [2]);
});

test("only so many answers are kept", async () => {
  let asked = 0;
  const questions = new Questions(async () => { asked += 1; }, { most: 2 });
  for (const step of [1, 2, 3, 1]) await questions.get({ step });
  assert.equal(asked, 4);
  assert.equal(questions.kept.size, 2);
});
