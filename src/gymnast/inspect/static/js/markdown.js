// Markdown as a tree of plain data. The page makes elements of it with textContent alone, so that whatever a run's
// files say stays text. Only what our reports use is known: headings, tables, lists, code, emphasis, links.

/** Blocks: {tag, text|inline|rows|items|level|align}. */
export function blocks(source) {
  const lines = String(source).replace(/\r\n?/g, "\n").split("\n");
  const found = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = /^(```+|~~~+)/.exec(line);
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (fence) {
      let end = at + 1;
      while (end < lines.length && !lines[end].startsWith(fence[1])) end += 1;
      found.push({ tag: "pre", text: lines.slice(at + 1, end).join("\n") });
      at = end + 1;
    } else if (heading) {
      found.push({ tag: "heading", level: heading[1].length, inline: inline(heading[2]) });
      at += 1;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      found.push({ tag: "hr" });
      at += 1;
    } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? "")) {
      const end = endOf(lines, at + 2, (one) => one.includes("|"));
      found.push(table(lines.slice(at, end)));
      at = end;
    } else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
      const end = endOf(lines, at, (one) => one.trim() !== "" && /^(\s+|\s*([-*+]|\d+[.)])\s)/.test(one));
      found.push(list(lines.slice(at, end)));
      at = end;
    } else if (/^>\s?/.test(line)) {
      const end = endOf(lines, at, (one) => one.startsWith(">"));
      found.push({ tag: "quote", inline: inline(lines.slice(at, end).map((one) => one.replace(/^>\s?/, "")).join(" ")) });
      at = end;
    } else if (!line.trim()) {
      at += 1;
    } else {
      const end = Math.max(at + 1, endOf(lines, at, (one) => one.trim() !== "" && !/^(#{1,6}\s|```|~~~|>|\s*[-*+]\s)/.test(one)));
      found.push({ tag: "p", inline: inline(lines.slice(at, end).join(" ")) });
      at = end;
    }
  }
  return found;
}

function endOf(lines, from, belongs) {
  let end = from;
  while (end < lines.length && belongs(lines[end])) end += 1;
  return end;
}

function cells(line) {
  const parts = line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/);
  return parts.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table([head, rule, ...rest]) {
  const align = cells(rule).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : "left"));
  return { tag: "table", align, head: cells(head).map(inline), rows: rest.map((line) => cells(line).map(inline)) };
}

function list(lines) {
  const items = [];
  for (const line of lines) {
    const match = /^\s*([-*+]|\d+[.)])\s+(.*)$/.exec(line);
    if (match) items.push({ text: match[2], ordered: /\d/.test(match[1]) });
    else if (items.length) items.at(-1).text += ` ${line.trim()}`;
  }
  return { tag: "list", ordered: items[0]?.ordered ?? false, items: items.map((item) => inline(item.text)) };
}

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*)\*|(?<![\p{L}\p{N}_])_([^_\s][^_]*)_(?![\p{L}\p{N}_])|!?\[([^\]]*)\]\(([^)\s]*)[^)]*\)/gu;

/** Spans: {tag: "text" | "code" | "strong" | "em" | "link", text, href}. */
export function inline(source) {
  const found = [];
  let last = 0;
  for (const match of source.matchAll(INLINE)) {
    if (match.index > last) found.push({ tag: "text", text: source.slice(last, match.index) });
    const [all, , code, strong, strong2, em, em2, label, href] = match;
    if (code !== undefined) found.push({ tag: "code", text: code });
    else if (strong ?? strong2) found.push({ tag: "strong", text: strong ?? strong2 });
    else if (em ?? em2) found.push({ tag: "em", text: em ?? em2 });
    else found.push({ tag: "link", text: label || href, href: safe(href) });
    last = match.index + all.length;
  }
  if (last < source.length) found.push({ tag: "text", text: source.slice(last) });
  return found;
}

/** Only addresses of the web are links; everything else (javascript:, data:, files) stays text. */
function safe(href) { return /^https?:\/\//i.test(href) ? href : null; }
