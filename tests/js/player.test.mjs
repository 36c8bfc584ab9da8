import assert from "node:assert/strict";
import { test } from "node:test";
import { Player } from "../../src/gymnast/inspect/static/js/player.js";

/** A player on a clock of 60 frames a second. */
function played(speed, seconds, { rows = Infinity, stopAt = Infinity } = {}) {
  let next = null;
  let step = 0;
  const player = new Player({
    move: (by) => { step = Math.min(rows - 1, step + by); return step < stopAt; },
    atEnd: () => step >= rows - 1,
    schedule: (tick) => { next = tick; },
  });
  player.setSpeed(speed);
  player.play();
  for (let time = 0; time <= seconds * 1000 && player.playing; time += 1000 / 60) {
    const tick = next;
    next = null;
    tick?.(time);
  }
  return { step, player };
}

test("the speed is kept, faster and slower than the screen", () => {
  assert.ok(Math.abs(played(60, 5).step - 300) <= 2);
  assert.ok(Math.abs(played(15, 4).step - 60) <= 2);
  assert.ok(Math.abs(played(240, 2).step - 480) <= 6);
  assert.ok(Math.abs(played(60, 2).player.rate - 60) < 1);
});

test("it stops at the end and at a breakpoint", () => {
  const end = played(60, 60, { rows: 100 });
  assert.equal(end.step, 99);
  assert.equal(end.player.playing, false);
  const stopped = played(60, 60, { stopAt: 40 });
  assert.equal(stopped.step, 40);
  assert.equal(stopped.player.playing, false);
});

test("a tab that slept does not leap", () => {
  let next;
  let step = 0;
  const player = new Player({ move: (by) => { step += by; }, atEnd: () => false, schedule: (tick) => { next = tick; } });
  player.setSpeed(60);
  player.play();
  next(0);
  next(60_000);
  assert.ok(step <= 15);
});
