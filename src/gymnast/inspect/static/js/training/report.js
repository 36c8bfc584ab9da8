// The run's report: Markdown made into elements, text only.

import { address, getText } from "/web/api.js";
import { clear, h } from "../dom.js";
import { blocks } from "../markdown.js";

const spans = (inline) => inline.map((span) => {
  if (span.tag === "text") return span.text;
  if (span.tag === "link" && span.href) return h("a", { href: span.href, rel: "noreferrer noopener", target: "_blank" }, span.text);
  return h({ code: "code", strong: "strong", em: "em" }[span.tag] ?? "span", {}, span.text);
});

export function markdown(source) {
  return h("article", { class: "markdown" }, blocks(source).map((block) => {
    switch (block.tag) {
      case "heading": return h(`h${Math.min(6, block.level + 1)}`, {}, spans(block.inline));
      case "pre": return h("pre", {}, block.text);
      case "hr": return h("hr");
      case "quote": return h("blockquote", {}, spans(block.inline));
      case "list": return h(block.ordered ? "ol" : "ul", {}, block.items.map((item) => h("li", {}, spans(item))));
      case "table": return h("div", { class: "table-wrap" }, h("table", {},
        h("thead", {}, h("tr", {}, block.head.map((cell, index) => h("th", { class: block.align[index] }, spans(cell))))),
        h("tbody", {}, block.rows.map((row) => h("tr", {}, row.map((cell, index) => h("td", { class: block.align[index] }, spans(cell))))))));
      default: return h("p", {}, spans(block.inline));
    }
  }));
}

export async function mountReport(element, run) {
  clear(element, h("section", { class: "panel block" }, markdown(await getText(address(["runs", run, "report"])))));
}
