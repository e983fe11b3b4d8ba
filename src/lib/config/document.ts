import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type ScalarTag,
} from "yaml";
import { messageOf } from "../base/errors.ts";
import { aliasTargets, checkStructure } from "../base/yaml-conversion.ts";
import { Origins, type Path, type Problem } from "./problems.ts";

export interface ConfigDocument {
  /** Plain JSON-like data; undefined if the text could not be read. */
  readonly value: unknown;
  readonly origins: Origins;
  readonly problems: readonly Problem[];
}

// Kubernetes reads these strings as booleans too, although YAML 1.2 does not.
const booleanTag = (pattern: RegExp, value: boolean): ScalarTag => ({
  tag: "tag:yaml.org,2002:bool",
  default: true,
  test: pattern,
  resolve: () => value,
});
const customTags = [
  booleanTag(/^(?:y|Y|yes|Yes|YES|on|On|ON)$/, true),
  booleanTag(/^(?:n|N|no|No|NO|off|Off|OFF)$/, false),
];

// Nested aliases can expand exponentially; no real configuration is this large.
const maxNodes = 100_000;
const maxDepth = 64;

/** Reads the first YAML or JSON document and records the line of every field. The last of duplicate fields counts. */
export function parseDocument(text: string, file: string): ConfigDocument {
  const origins = new Origins();
  const problems: Problem[] = [];
  if (text.trim() === "")
    return { value: undefined, origins, problems: [{ path: [], message: "is empty", origin: file }] };

  const lineCounter = new LineCounter();
  const at = (offset: number) => `${file}:${lineCounter.linePos(offset).line}`;
  const parsed = parseAllDocuments(text, {
    lineCounter,
    customTags: (tags) => [...customTags, ...tags],
    uniqueKeys: false,
    prettyErrors: false,
  });
  const documents =
    "empty" in parsed ? [] : parsed.filter((d) => d.errors.length > 0 || !isNothing(d.contents));
  const [document, second] = documents;
  for (const { errors } of documents) {
    for (const error of errors) problems.push({ path: [], message: error.message, origin: at(error.pos[0]) });
  }
  if (!document)
    return { value: undefined, origins, problems: [{ path: [], message: "is empty", origin: file }] };
  if (second) {
    const origin = at(second.contents?.range?.[0] ?? second.range[0]);
    problems.push({
      path: [],
      message: "contains more than one document",
      origin,
      tolerated: { in: "all files", effect: "only the first is read" },
    });
  }
  if (!problems.some(({ tolerated }) => !tolerated)) {
    try {
      checkStructure(document);
    } catch (error) {
      problems.push({ path: [], message: messageOf(error), origin: file });
    }
  }
  if (problems.some(({ tolerated }) => !tolerated)) return { value: undefined, origins, problems };

  const targets = aliasTargets(document);
  let nodes = 0;
  function walk(node: Node | null | undefined, path: Path): unknown {
    if (path.length > maxDepth) nodes = maxNodes;
    if (++nodes > maxNodes) return null;
    if (isAlias(node)) {
      const target = targets.get(node);
      if (target) return walk(target, path);
      const message = `*${node.source} refers to nothing`;
      problems.push({ path, message, origin: at(node.range?.[0] ?? 0) });
      return null;
    }
    if (isScalar(node)) return node.value;
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        const inner = [...path, index];
        const range = (item as Node | null)?.range;
        if (range) origins.set(inner, at(range[0]));
        return walk(item as Node | null, inner);
      });
    }
    if (!isMap(node)) return null;
    const entries = new Map<string, unknown>();
    const inherited = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const keyNode = key as Node | null;
      const name = isScalar(keyNode) ? (keyNode.source ?? String(keyNode.value)) : String(keyNode);
      const origin = at(keyNode?.range?.[0] ?? 0);
      if (name === "<<") {
        for (const source of [walk(value as Node | null, path)].flat()) {
          for (const [k, v] of Object.entries(source ?? {})) if (!inherited.has(k)) inherited.set(k, v);
        }
        continue;
      }
      const inner = [...path, name];
      if (entries.has(name))
        problems.push({
          path: inner,
          message: "is specified more than once",
          origin,
          tolerated: { in: "main file", effect: "the last value is used" },
        });
      origins.set(inner, origin);
      entries.set(name, walk(value as Node | null, inner));
    }
    for (const [name, value] of inherited) if (!entries.has(name)) entries.set(name, value);
    return Object.fromEntries(entries);
  }
  const value = walk(document.contents as Node, []);
  if (nodes > maxNodes) problems.push({ path: [], message: "has too many values", origin: file });
  return { value, origins, problems };
}

function isNothing(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}
