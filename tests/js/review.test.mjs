import assert from "node:assert/strict";
import { test } from "node:test";
import { EventReader, eventsOf } from "../../src/gymnast/inspect/static/js/training/event_stream.js";

const STREAM = 'event: text\ndata: {"text": "größer\\n"}\n\n: a comment\n\nevent: review\ndata: {"review": null}\n\nevent: text\ndata: {"te';
const EXPECTED = [{ name: "text", data: { text: "größer\n" } }, { name: "review", data: { review: null } }];

test("events are the same however the stream is cut, and one without an end is left out", () => {
  for (const size of [1, 2, 7, 1000]) {
    const reader = new EventReader();
    const found = [];
    for (let at = 0; at < STREAM.length; at += size) found.push(...reader.feed(STREAM.slice(at, at + size)));
    assert.deepEqual(found, EXPECTED, `pieces of ${size}`);
  }
});

test("characters that are cut in two are put together", async () => {
  const bytes = new TextEncoder().encode(STREAM);
  const body = new ReadableStream({ start(out) { for (const byte of bytes) out.enqueue(Uint8Array.of(byte)); out.close(); } });
  const found = [];
  for await (const event of eventsOf(body)) found.push(event);
  assert.deepEqual(found, EXPECTED);
});
