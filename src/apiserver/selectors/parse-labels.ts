import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import { checkKey, type LabelRequirement, type LabelSelector, labelRequirement } from "./label-selector.ts";

interface Token {
  readonly kind: "value" | "symbol" | "end";
  readonly text: string;
}

const binaryOperators = ["in", "notin", "=", "==", "!=", "gt", "lt"];
const symbols = ["!=", "==", "=", "!", "(", ")", ",", ">", "<"];

/** The selector of a query parameter: `app=web,tier in (a, b),!old`. An empty one matches everything. */
export function parseLabelSelector(text: string): LabelSelector {
  return new LabelParser(text).parse();
}

class LabelParser {
  readonly #tokens: readonly Token[];
  #at = 0;
  constructor(text: string) {
    this.#tokens = tokens(text);
  }

  parse(): LabelSelector {
    const out: LabelRequirement[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === "end") return out;
      if (!startsRequirement(token))
        throw badRequest(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      out.push(this.#requirement());
      const next = this.#take();
      if (next.kind === "end") return out;
      if (next.text !== "," || next.kind !== "symbol")
        throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`);
      if (!startsRequirement(this.#peek()))
        throw badRequest(`found '${this.#peek().text}', expected: identifier after ','`);
    }
  }

  #requirement(): LabelRequirement {
    try {
      const absent = isSymbol(this.#peek(), "!");
      if (absent) this.#take();
      const key = this.#word("identifier");
      checkKey(key, "<nil>");
      if (absent) return labelRequirement(key, "!", []);
      const next = this.#peek();
      if (next.kind === "end" || isSymbol(next, ",")) return labelRequirement(key, "exists", []);
      return this.#comparison(key);
    } catch (error) {
      throw badRequest(`unable to parse requirement: ${messageOf(error)}`);
    }
  }

  #comparison(key: string): LabelRequirement {
    const operator = this.#take().text;
    switch (operator) {
      case "in":
      case "notin":
        return labelRequirement(key, operator, this.#values());
      case "=":
      case "==":
        return labelRequirement(key, "in", [this.#value()]);
      case "!=":
        return labelRequirement(key, "notin", [this.#value()]);
      case ">":
        return labelRequirement(key, "gt", [this.#value()]);
      case "<":
        return labelRequirement(key, "lt", [this.#value()]);
      default:
        throw badRequest(`found '${operator}', expected: ${binaryOperators.join(", ")}`);
    }
  }

  /** The value may be empty: `a=` requires an empty value. */
  #value(): string {
    const token = this.#peek();
    return token.kind === "end" || isSymbol(token, ",") ? "" : this.#word("identifier");
  }

  /** `(a, b)`; an empty item is the empty value. Sorted, without duplicates. */
  #values(): string[] {
    const open = this.#take();
    if (!isSymbol(open, "(")) throw badRequest(`found '${open.text}' expected: '('`);
    const out = new Set<string>();
    for (;;) {
      const token = this.#peek();
      if (token.kind === "value") {
        out.add(this.#take().text);
        const after = this.#peek();
        if (!isSymbol(after, ",") && !isSymbol(after, ")"))
          throw badRequest(`found '${after.text}', expected: ',' or ')'`);
      } else if (isSymbol(token, ",") || isSymbol(token, ")")) out.add("");
      else throw badRequest(`found '${token.text}', expected: ',', ')' or identifier`);
      if (isSymbol(this.#take(), ")")) return [...out].sort((a, b) => (a < b ? -1 : 1));
    }
  }

  #word(expected: string): string {
    const token = this.#take();
    if (token.kind !== "value") throw badRequest(`found '${token.text}', expected: ${expected}`);
    return token.text;
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "" };
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }
}

function startsRequirement(token: Token): boolean {
  return token.kind === "value" || isSymbol(token, "!");
}

function isSymbol(token: Token, text: string): boolean {
  return token.kind === "symbol" && token.text === text;
}

function tokens(text: string): Token[] {
  const out: Token[] = [];
  for (const [part] of text.matchAll(/[^\s=!(),<>]+|[=!(),<>]+/g)) {
    if (!/^[=!(),<>]/.test(part)) out.push({ kind: "value", text: part });
    else out.push(...symbolTokens(part));
  }
  return out;
}

function symbolTokens(run: string): Token[] {
  const out: Token[] = [];
  for (let at = 0; at < run.length; ) {
    const symbol = symbols.find((candidate) => run.startsWith(candidate, at))!;
    out.push({ kind: "symbol", text: symbol });
    at += symbol.length;
  }
  return out;
}

function badRequest(message: string): KubeletError {
  return new KubeletError("BadRequest", message);
}
