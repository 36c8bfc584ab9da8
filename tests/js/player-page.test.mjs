import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldKeys, meaning } from "../../src/gymnast/play/static/js/held.js";
import { Rate } from "../../src/gymnast/play/static/js/rate.js";
import { choiceRows, driversText, keysNote, ledger, numberRows, pieces, readSeed, shortNumber, veilOf } from "../../src/gymnast/play/static/js/texts.js";

const controls = { take_over: { code: "Tab" }, pause: { code: "Escape", key: "Esc" } };

test("keys that are down are known in the order of pressing", () => {
  const keys = new HeldKeys(["ArrowLeft", "Space"]);
  assert.equal(keys.press("Space"), true);
  assert.equal(keys.press("Space"), false, "a key that repeats is down already");
  assert.equal(keys.press("KeyQ"), false, "a key without meaning");
  keys.press("ArrowLeft");
  assert.deepEqual(keys.down, ["Space", "ArrowLeft"]);
  assert.equal(keys.release("Space"), true);
  assert.equal(keys.release("Space"), false);
  assert.equal(keys.clear(), true);
  assert.deepEqual(keys.down, []);
});

test("a key is a command, a key of the game or none of ours", () => {
  const game = new Set(["ArrowLeft"]);
  const event = (code, more = {}) => ({ code, ctrlKey: false, metaKey: false, altKey: false, ...more });
  assert.deepEqual(meaning(event("Tab"), controls, game, false), { command: "take_over" });
  assert.deepEqual(meaning(event("ArrowLeft"), controls, game, false), { key: "ArrowLeft" });
  assert.equal(meaning(event("KeyW", { ctrlKey: true }), controls, game, false), null, "the browser's own");
  assert.equal(meaning(event("Tab"), controls, game, true), null, "typing in a field");
  assert.equal(meaning(event("F5"), controls, game, false), null);
});

test("seeds are whole numbers, and an empty field is the same again", () => {
  assert.equal(readSeed(" 17 "), 17);
  assert.equal(readSeed(""), null);
  for (const text of ["-1", "1.5", "seven", "2147483648", "1e3"]) assert.equal(readSeed(text), undefined);
});

test("numbers are short", () => {
  const shown = [null, 0, -0, 3, 1234567, 12345.6, 250.25, 0.125, 0.0001].map(shortNumber);
  assert.deepEqual(shown, ["–", "0", "0", "3", "1,234,567", "12,346", "250.3", "0.13", "1.0e−4"]);
  assert.deepEqual([-21, -2.375, -1089.29].map(shortNumber), ["−21", "−2.38", "−1089.3"]);
});

test("the veil says why the game stands still", () => {
  const running = { ended: null, paused: null, over: null, waiting: null, step: 5, driver: "policy", return: 4 };
  assert.equal(veilOf(running, controls), null);
  assert.match(veilOf({ ...running, paused: "paused" }, controls).hint, /Esc/);
  const lost = veilOf({ ...running, driver: "human", paused: "the keyboard is not heard from" }, controls);
  assert.equal(lost.text, "The keyboard is not heard from");
  assert.match(lost.hint, /key of the game/);
  assert.equal(veilOf({ ...running, over: "truncated" }, controls).text, "Time is up");
  assert.match(veilOf({ ...running, ended: "the window was closed" }, controls).hint, /closed/);
});

test("the ledger has shares that add up", () => {
  const rows = ledger({ env: -1, speed: 0.5 }, { env: -30, speed: 10 });
  assert.deepEqual(rows.map(({ name, now, sum }) => [name, now, sum]), [["env", -1, -30], ["speed", 0.5, 10]]);
  assert.equal(rows.reduce((total, { share }) => total + share, 0), 1);
  assert.deepEqual(ledger({}, {}), []);
});

test("of many choices the likeliest are shown in their order", () => {
  const about = { choices: ["a", "b", "c", "d"] };
  const moment = { probabilities: [0.1, 0.5, 0.1, 0.3], mask: [1, 1, 0, 1] };
  assert.deepEqual(choiceRows(about, moment, 2).map(({ label }) => label), ["b", "d"]);
  assert.deepEqual(choiceRows(about, moment).map(({ masked }) => masked), [false, false, true, false]);
});

test("real numbers are bands within the range that the env takes", () => {
  const about = { numbers: ["engine", "side"], factors: ["mode", "engine", "side"], ranges: [[0, 1], [-2, 2]] };
  const moment = { mean: [0.5, 1], std: [0.25, 4], would: [3, 0.75, -1] };
  const [engine, side] = numberRows(about, moment);
  assert.deepEqual([engine.from, engine.to, engine.at], [0.25, 0.75, 0.75]);
  assert.deepEqual([side.from, side.to, side.at], [0, 1, 0.25]);
  assert.equal(engine.text, "0.50 ± 0.25");
  assert.deepEqual(numberRows(about, { mean: [], std: [] }).map(({ text, at }) => [text, at]), [["–", null], ["–", null]]);
});

test("the rate is of the last seconds and starts over with an episode", () => {
  const rate = new Rate(2);
  let shown = null;
  for (let step = 0; step <= 100; step += 1) shown = rate.add(step / 50, step);
  assert.ok(Math.abs(shown - 50) < 1e-9);
  assert.equal(rate.add(2.1, 0), null);
  assert.equal(rate.add(2.2, 5), null, "too short to say");
});

test("how the keys are meant is said", () => {
  assert.match(keysNote({ turn_based: true, neutral: false, combines: false }), /waits/);
  assert.match(keysNote({ turn_based: false, neutral: false, combines: false }), /repeated/);
  assert.match(keysNote({ turn_based: false, neutral: true, combines: true }), /together/);
  assert.match(keysNote({ turn_based: false, neutral: true, combines: false }), /last counts/);
});

test("who drove is said in words", () => {
  assert.equal(driversText({ human: 12 }), "you");
  assert.equal(driversText({ policy: 120, human: 40 }), "policy 120, you 40");
});

test("long labels may be broken after a sign", () => {
  assert.deepEqual(pieces("TURN_LEFT+ATTACK"), ["TURN_", "LEFT+", "ATTACK"]);
  assert.deepEqual(pieces("main engine"), ["main engine"]);
});
