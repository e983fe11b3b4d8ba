import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument } from "yaml";

/** Paths of duplicate fields in JSON or YAML text: "spec.containers[0].name". */
export function duplicateFields(text: string): string[] {
  return [...(/^\s*[{[]/.test(text) ? inJson(text) : inYaml(text))];
}

interface Level {
  readonly path: string;
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  index: number;
  /** The path of the next value. */
  next: string;
}

const token = /\s*(?:("(?:[^"\\]|\\.)*")(\s*:)?|([{}[\],])|[^\s{}[\],":]+)/sy;

function inJson(text: string): Set<string> {
  const found = new Set<string>();
  const levels: Level[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [, string, colon, sign] = match;
    const level = levels.at(-1);
    if (string !== undefined && colon !== undefined && level?.keys) {
      const key = keyOf(string);
      level.next = level.path === "" ? key : `${level.path}.${key}`;
      if (level.keys.has(key)) found.add(level.next);
      level.keys.add(key);
    } else if (sign === "{" || sign === "[") {
      const path = level?.next ?? "";
      levels.push({ path, keys: sign === "{" ? new Set() : undefined, index: 0, next: `${path}[0]` });
    } else if (sign === "}" || sign === "]") levels.pop();
    else if (sign === "," && level && !level.keys) level.next = `${level.path}[${++level.index}]`;
  }
  return found;
}

function keyOf(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted.slice(1, -1);
  }
}

function inYaml(text: string): Set<string> {
  const found = new Set<string>();
  const visit = (node: Node | null, path: string): void => {
    if (isSeq<Node>(node)) for (const [index, item] of node.items.entries()) visit(item, `${path}[${index}]`);
    if (!isMap<Node, Node>(node)) return;
    const keys = new Set<string>();
    for (const { key, value } of node.items) {
      if (isAlias(key) || !isScalar(key)) continue;
      const name = String(key.value);
      const below = path === "" ? name : `${path}.${name}`;
      if (keys.has(name)) found.add(below);
      keys.add(name);
      visit(value, below);
    }
  };
  visit(parseDocument(text, { uniqueKeys: false }).contents, "");
  return found;
}
