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
  assert.equal(cache.get(0).index, 0);
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
  cache.onReady = (index) => shown.push(index);
  cache.get(2);
  await settle();
  assert.deepEqual(shown, [2]);
  assert.equal(cache.get(3), null);
  assert.equal(cache.get(-1), null);
  await settle();
  assert.equal(cache.peek(4).index, 4);
});
