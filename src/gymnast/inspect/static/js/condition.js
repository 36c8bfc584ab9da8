// Conditions on columns of the table, such as `value < 10 and reward != 0`. A small grammar of its own: nothing that
// a user types is ever run as code.
//
//   or → and ("or" and)* ;  and → not ("and" not)* ;  not → "not" not | comparison
//   comparison → sum (("<" | "<=" | ">" | ">=" | "==" | "=" | "!=") sum)?
//   sum → product (("+" | "-") product)* ;  product → unary (("*" | "/" | "%") unary)*
//   unary → "-" unary | number | text | name | abs(…) | delta(…) | "(" or ")"

const TOKENS = /\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|("(?:[^"]*)"|'(?:[^']*)')|`([^`]*)`|([\p{L}_][\p{L}\p{N}_]*(?:[/.#][\p{L}\p{N}_.#]+)*)|(<=|>=|==|!=|&&|\|\||[<>=!()+\-*/%,]))/uy;
const WORDS = { "&&": "and", "||": "or", "!": "not", "=": "==" };
const COMPARE = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b,
  "==": (a, b) => a === b, "!=": (a, b) => a !== b,
};
const SUM = { "+": (a, b) => a + b, "-": (a, b) => a - b };
const PRODUCT = { "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b };

export class ConditionError extends Error {}

/**
 * Compile a condition for columns with these names into `test(read, step)`, where `read(name, step)` gives a number
 * or text. Throws ConditionError, in words, when it cannot be understood.
 */
export function compile(text, names) {
  const parser = new Parser(tokens(text), names);
  const expression = parser.or();
  if (parser.peek()) throw new ConditionError(`“${parser.peek().text}” is not expected there.`);
  return (read, step) => Boolean(expression(read, step));
}

/** A column's name as a condition has to write it. */
export function quoted(name) {
  TOKENS.lastIndex = 0;
  const match = TOKENS.exec(name);
  return match?.[4] === name ? name : `\`${name}\``;
}

function tokens(text) {
  const found = [];
  TOKENS.lastIndex = 0;
  while (TOKENS.lastIndex < text.length) {
    if (!text.slice(TOKENS.lastIndex).trim()) break;
    const at = TOKENS.lastIndex;
    const match = TOKENS.exec(text);
    if (!match) throw new ConditionError(`“${text.slice(at).trim()[0]}” is not understood.`);
    const [, digits, quoted, ticked, name, sign] = match;
    if (digits !== undefined) found.push({ kind: "number", value: Number(digits), text: digits });
    else if (quoted !== undefined) found.push({ kind: "text", value: quoted.slice(1, -1), text: quoted });
    else if (ticked !== undefined) found.push({ kind: "name", value: ticked, text: ticked });
    else if (name !== undefined) {
      const word = name.toLowerCase();
      const isWord = ["and", "or", "not", "true", "false"].includes(word);
      found.push({ kind: isWord ? "word" : "name", value: isWord ? word : name, text: name });
    } else found.push({ kind: "sign", value: WORDS[sign] ?? sign, text: sign });
  }
  if (!found.length) throw new ConditionError("Write a condition, for example: value < 10 and reward != 0");
  return found;
}

class Parser {
  constructor(list, names) {
    this.list = list;
    this.names = names;
    this.at = 0;
    this.depth = 0;
  }

  peek() { return this.list[this.at]; }

  take(values) {
    const next = this.peek();
    if (!next || !["sign", "word"].includes(next.kind) || !values.includes(next.value)) return null;
    this.at += 1;
    return next.value;
  }

  or() {
    let left = this.and();
    while (this.take(["or"])) {
      const [a, b] = [left, this.and()];
      left = (read, step) => a(read, step) || b(read, step);
    }
    return left;
  }

  and() {
    let left = this.not();
    while (this.take(["and"])) {
      const [a, b] = [left, this.not()];
      left = (read, step) => a(read, step) && b(read, step);
    }
    return left;
  }

  not() {
    if (!this.take(["not"])) return this.comparison();
    const inner = this.not();
    return (read, step) => !inner(read, step);
  }

  comparison() {
    const left = this.chain(SUM, () => this.chain(PRODUCT, () => this.unary()));
    const sign = this.take(Object.keys(COMPARE));
    if (!sign) return left;
    const right = this.chain(SUM, () => this.chain(PRODUCT, () => this.unary()));
    return (read, step) => COMPARE[sign](left(read, step), right(read, step));
  }

  chain(table, inner) {
    let left = inner();
    for (let sign = this.take(Object.keys(table)); sign; sign = this.take(Object.keys(table))) {
      const [a, b, apply] = [left, inner(), table[sign]];
      left = (read, step) => apply(a(read, step), b(read, step));
    }
    return left;
  }

  unary() {
    if (this.take(["-"])) {
      const inner = this.unary();
      return (read, step) => -inner(read, step);
    }
    if (this.take(["("])) return this.bracket();
    const next = this.peek();
    if (!next) throw new ConditionError("The condition ends too early.");
    this.at += 1;
    if (next.kind === "number" || next.kind === "text") return () => next.value;
    if (next.kind === "word" && next.value !== "and" && next.value !== "or") {
      const value = next.value === "true" ? 1 : 0;
      return () => value;
    }
    if (next.kind === "name") return this.name(next.value);
    throw new ConditionError(`“${next.text}” is not expected there.`);
  }

  bracket() {
    this.depth += 1;
    if (this.depth > 50) throw new ConditionError("The condition has too many brackets.");
    const inner = this.or();
    if (!this.take([")"])) throw new ConditionError("A closing bracket is missing.");
    this.depth -= 1;
    return inner;
  }

  name(name) {
    if ((name === "abs" || name === "delta") && !this.names.includes(name) && this.take(["("])) {
      const inner = this.bracket();
      if (name === "abs") return (read, step) => Math.abs(inner(read, step));
      // Against the step before; nothing is compared across the beginning of the recording.
      return (read, step) => (step > 0 ? inner(read, step) - inner(read, step - 1) : 0);
    }
    if (!this.names.includes(name)) {
      const near = nearest(name, this.names);
      throw new ConditionError(`There is no column “${name}”${near ? `; did you mean “${near}”?` : "."}`);
    }
    return (read, step) => read(name, step);
  }
}

/** The known name that is least different from what was typed, if any is close. */
export function nearest(name, names) {
  let best = null;
  let least = Math.max(2, Math.ceil(name.length / 3)) + 1;
  for (const one of names) {
    const own = one.toLowerCase().includes(name.toLowerCase()) && name.length > 2 ? 1 : distance(name, one);
    if (own < least) [best, least] = [one, own];
  }
  return best;
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}
