import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameCache } from "../../src/gymnast/inspect/static/js/frames.js";

const settle = () => new Promise((resolve) => { setTimeout(resolve, 5); });

test("pictures ahead are decoded, few at once, and the oldest are dropped and closed", async () => {
  let most = 0;
  let now = 0;
  const closed = [];
  const cache = new FrameCache(1000, async (index) => {
    now += 1;
    most = Math.max(most, now);
    await Promise.resolve();
    now -= 1;
    return { index, close: () => closed.push(index) };
  }, { ahead: 60, keep: 100, atOnce: 6 });
  assert.equal(cache.get(0), null);
  await settle();
  assert.equal(cache.get(0).picture.index, 0);
  assert.equal(cache.peek(60).index, 60);
  assert.equal(cache.peek(61)?.index, undefined);
  for (let at = 0; at < 1000; at += 50) {
    cache.get(at);
    await settle();
  }
  assert.ok(most <= 6);
  assert.ok(cache.ready.size <= 100);
  assert.ok(closed.length > 700);
  cache.close();
  assert.equal(cache.ready.size, 0);
});

test("the shown picture is announced when it comes, and a broken one does no harm", async () => {
  const cache = new FrameCache(10, (index) => (index === 3 ? Promise.reject(new Error("broken")) : Promise.resolve({ index })), { ahead: 2 });
  const shown = [];
  cache.onReady = ({ row }) => shown.push(row);
  cache.get(2);
  await settle();
  assert.deepEqual(shown, [2]);
  assert.equal(cache.get(3), null);
  assert.equal(cache.get(-1), null);
  await settle();
  assert.equal(cache.peek(4).index, 4);
});

test("rows that are passed by in strides are decoded in strides", async () => {
  const asked = [];
  const cache = new FrameCache(1000, async (index) => { asked.push(index); return { index }; }, { ahead: 10 });
  cache.get(0);
  await settle();
  asked.length = 0;
  cache.get(4);
  await settle();
  assert.deepEqual(asked, [12, 16, 20, 24, 28, 32, 36, 40, 44]);
  assert.equal(cache.get(8).row, 8);
});

test("pictures that come too late are shown rather than none, and never an older one", async () => {
  const answer = new Map();
  const cache = new FrameCache(1000, (index) => new Promise((resolve) => { answer.set(index, () => resolve({ index })); }), { ahead: 4, atOnce: 100 });
  const shown = [];
  cache.onReady = ({ row }) => shown.push(row);
  for (const row of [10, 11, 12, 13]) assert.equal(cache.get(row), null);
  for (const row of [11, 10, 12]) { answer.get(row)(); await settle(); }
  assert.deepEqual(shown, [11, 12]);
  answer.get(13)();
  await settle();
  assert.deepEqual(shown, [11, 12, 13]);
  assert.equal(cache.get(500), null);
  answer.get(14)();
  await settle();
  assert.deepEqual(shown, [11, 12, 13], "after a leap nothing of before");
  answer.get(500)();
  await settle();
  assert.equal(shown.at(-1), 500);
});
