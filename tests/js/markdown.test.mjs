import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks, inline } from "../../src/gymnast/inspect/static/js/markdown.js";

test("headings, paragraphs, code, tables and lists", () => {
  const found = blocks("# Title\n\nSome *text*\nhere.\n\n```text\n<b>code</b>\n```\n\n| a | b |\n| --- | ---: |\n| `x` | 1 |\n\n- one\n- two\n  more\n\n> quoted");
  assert.deepEqual(found.map((block) => block.tag), ["heading", "p", "pre", "table", "list", "quote"]);
  assert.equal(found[2].text, "<b>code</b>");
  assert.deepEqual(found[3].align, ["left", "right"]);
  assert.deepEqual(found[3].rows[0][0], [{ tag: "code", text: "x" }]);
  assert.equal(found[4].items.length, 2);
  assert.equal(found[4].items[1][0].text, "two more");
});

test("html stays text, and only addresses of the web are links", () => {
  assert.deepEqual(inline("<img src=x onerror=alert(1)>"), [{ tag: "text", text: "<img src=x onerror=alert(1)>" }]);
  assert.equal(inline("[go](javascript:alert(1))")[0].href, null);
  assert.equal(inline("[go](https://example.org/a)")[0].href, "https://example.org/a");
  assert.equal(inline("![](data:text/html,x)")[0].href, null);
});

test("any text ends, and none is lost between marks", () => {
  assert.deepEqual(inline("a **b** `c*d*` e_f_g").map((span) => span.text), ["a ", "b", " ", "c*d*", " e_f_g"]);
  assert.equal(blocks("|\n||\n---\n#\n```").length > 0, true);
  assert.equal(blocks("- \n1.\n>").length > 0, true);
});
