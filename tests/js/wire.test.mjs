import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "../../src/gymnast/web/static/wire.js";

/** As `gymnast.web.wire.pack` writes it. */
function packed(header, body) {
  let text = JSON.stringify(header);
  text += " ".repeat((8 - ((8 + new TextEncoder().encode(text).length) % 8)) % 8);
  const head = new TextEncoder().encode(text);
  const whole = new Uint8Array(8 + head.length + body.byteLength);
  whole.set(new TextEncoder().encode("GYM1"));
  new DataView(whole.buffer).setUint32(4, head.length, true);
  whole.set(head, 8);
  whole.set(new Uint8Array(body), 8 + head.length);
  return whole.buffer;
}

test("arrays are views on the buffer, with their shapes", () => {
  const buffer = packed({ meta: { rows: 2 }, arrays: { x: { dtype: "f8", shape: [2], offset: 0 } } }, Float64Array.of(1.5, -2).buffer);
  const { arrays, meta } = decode(buffer);
  assert.deepEqual([...arrays.x.data], [1.5, -2]);
  assert.equal(arrays.x.data.buffer, buffer);
  assert.equal(meta.rows, 2);
});

test("pictures are cut at their ends", async () => {
  const body = new Uint8Array(16);
  body.set(new Uint8Array(Int32Array.of(2, 5).buffer));
  body.set([9, 8, 7, 6, 5], 8);
  const arrays = { ends: { dtype: "i4", shape: [2], offset: 0 }, frames: { dtype: "u1", shape: [5], offset: 8 } };
  const { frames } = decode(packed({ meta: {}, arrays, frames: { mime: "image/png", ends: "ends" } }, body.buffer));
  assert.equal(frames.count, 2);
  assert.deepEqual([...new Uint8Array(await frames.blob(1).arrayBuffer())], [7, 6, 5]);
});

test("what is not a recording, or cut off, is refused in words", () => {
  assert.throws(() => decode(new TextEncoder().encode("<html>nothing</html>").buffer), /not a recording/);
  const short = packed({ meta: {}, arrays: { x: { dtype: "f8", shape: [4], offset: 0 } } }, new ArrayBuffer(8));
  assert.throws(() => decode(short), /incomplete/);
});
