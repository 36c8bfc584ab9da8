import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, compact, number, percent, plain, score, sentence } from "../../src/gymnast/inspect/static/js/format.js";

test("numbers are short and honest", () => {
  assert.equal(number(0), "0");
  assert.equal(number(-0.012345), "−0.0123");
  assert.equal(number(123456), "123\u2009456");
  assert.equal(number(1.5e-7), "1.50e−7");
  assert.equal(number(NaN), "–");
  assert.equal(number(Infinity), "∞");
  assert.equal(compact(1_500_000), "1.5 M");
  assert.equal(percent(0.5), "50.0 %");
  assert.equal(percent(1), "100 %");
  assert.equal(plain({ a: [1] }), '{"a":[1]}');
});

test("scores have the decimals of a table, and more where there would be nothing else", () => {
  assert.deepEqual([54.4, 69.254, -1089.29, 0, 1e6].map(score), ["54.40", "69.25", "−1\u2009089.29", "0.00", "1\u2009000\u2009000.00"]);
  assert.deepEqual([0.0012, -0.004, null, NaN].map(score), ["0.0012", "−0.004", "–", "–"]);
});

test("times are relative", () => {
  assert.equal(ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T02:30:00Z")), "2 h ago");
  assert.equal(ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:00:30Z")), "just now");
  assert.equal(ago("nonsense"), "");
});

test("errors are sentences, and names keep their spelling", () => {
  assert.equal(sentence("the server does not answer"), "The server does not answer.");
  assert.equal(sentence("env.kwargs.x: is not known"), "env.kwargs.x: is not known.");
  assert.equal(sentence("Done!"), "Done!");
});
