import {
  type Alias,
  type CollectionTag,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  type YAMLMap,
} from "yaml";
import { messageOf } from "../../../lib/base/errors.ts";
import { aliasTargets, checkConversion } from "../../../lib/base/yaml-conversion.ts";

type Tag = CollectionTag | ScalarTag;

const core = "tag:yaml.org,2002:";

const excluded = new Set(["timestamp", "binary", "omap", "pairs", "set"].map((name) => core + name));

const prefixedOctal: ScalarTag = {
  identify: () => false,
  default: true,
  tag: `${core}int`,
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => Number(text.replace(/^[-+]/, "")) * (text.startsWith("-") ? -1 : 1),
};

/** Line and column, both counted from 1. */
export interface Position {
  line: number;
  column: number;
}

export interface DocumentProblem extends Partial<Position> {
  field?: string;
  message: string;
}

export type Parsed =
  | { value: unknown; positionOf(path: string): Position | undefined; warnings: readonly DocumentProblem[] }
  | { problem: DocumentProblem };

/** YAML costs about 60 bytes of memory and 250 ns per byte: a larger document blocks the agent for up to 2.5 seconds. */
const largeYamlBytes = 1024 * 1024;
const maxWarnings = 100;
const maxAliases = 100;
const maxDepth = 1000;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads one YAML or JSON document. Never throws: the result is a value or a problem. */
export function parseDocument(bytes: Uint8Array): Parsed {
  const text = decodeText(bytes);
  if (typeof text !== "string") return text;
  if (text.trim() === "") return fail("the file is empty");
  const isLarge = bytes.length > largeYamlBytes;
  const json = isLarge && fromJson(text);
  if (json) return json;
  try {
    const parsed = parseYaml(text);
    if (!isLarge || "problem" in parsed) return parsed;
    const warning = {
      message: `${(bytes.length / 1024 / 1024).toFixed(1)} MiB of YAML block the kubelet while they are read; JSON does not`,
    };
    return { ...parsed, warnings: [warning, ...parsed.warnings] };
  } catch (error) {
    return fail(error instanceof RangeError ? "nested too deeply" : messageOf(error));
  }
}

function decodeText(bytes: Uint8Array): string | Parsed {
  const zero = bytes.indexOf(0);
  if (zero >= 0) return fail(`not a text file: byte 0x00 at offset ${zero}`);
  try {
    return utf8.decode(bytes);
  } catch {
    return fail("not a text file: it is not UTF-8");
  }
}

function parseYaml(text: string): Parsed {
  if (tooDeep(text)) return fail("nested too deeply");
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    version: "1.1",
    customTags: kubernetesTags,
    lineCounter: lines,
    prettyErrors: false,
    // The parser's check is quadratic; ours is below.
    uniqueKeys: false,
    merge: true,
    logLevel: "silent",
  });
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  // The parser returns an empty array for an empty stream, which is not the case here.
  const all = documents as Document.Parsed[];
  const filled = all.filter(
    (d) => d.errors.length > 0 || (d.contents && !(isScalar(d.contents) && d.contents.value === null)),
  );
  const [document, second] = filled;
  if (!document) return fail("the file has no document");
  const error = document.errors[0];
  if (error) {
    return fromJson(text) ?? fail(firstLine(error.message), positionAt(error.pos[0]));
  }
  checkConversion(document);
  const warnings: DocumentProblem[] = [];
  for (const { key, path, offset } of repeatedKeys(document.contents, "")) {
    if (warnings.length === maxWarnings) break;
    warnings.push({
      message: `duplicate key "${key}", the last one counts`,
      ...positionAt(offset),
      field: path,
    });
  }
  if (second) {
    const position = positionAt(second.contents?.range[0] ?? second.range[0]);
    warnings.push({ message: "a second document starts here, ignored", ...position });
  }
  const value: unknown = document.toJS({ maxAliasCount: maxAliases });
  return { value, positionOf: positions(document, positionAt), warnings };
}

/** JSON that is not YAML, such as with tabs for indentation, and large JSON, which the YAML parser reads slowly. */
function fromJson(text: string): Parsed | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text), positionOf: () => undefined, warnings: [] };
  } catch {
    return undefined;
  }
}

/** A cheap check of nesting in flow style, before the parser recurses into it. */
function tooDeep(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === "[" || char === "{") depth++;
    else if (char === "]" || char === "}") depth = Math.max(0, depth - 1);
    if (depth > maxDepth) return true;
  }
  return false;
}

function* repeatedKeys(
  node: Node | null | undefined,
  path: string,
): Generator<{ key: string; path: string; offset: number }> {
  if (isSeq(node)) {
    for (const [i, item] of node.items.entries()) yield* repeatedKeys(item as Node, `${path}[${i}]`);
  } else if (isMap(node)) {
    const seen = new Set<string>();
    for (const pair of node.items) {
      const key = keyText(pair.key);
      const below = path === "" ? key : `${path}.${key}`;
      if (seen.has(key) && key !== "<<")
        yield { key, path: below, offset: (pair.key as Node).range?.[0] ?? 0 };
      seen.add(key);
      yield* repeatedKeys(pair.value as Node | null, below);
    }
  }
}

/**
 * Returns the position of a field, or of its nearest parent that exists. A manifest may have as many problems as fields, so mappings and
 * aliases are indexed once.
 */
function positions(
  document: Document.Parsed,
  positionAt: (offset: number) => Position,
): (path: string) => Position | undefined {
  let targets: ReadonlyMap<Alias, Node> | undefined;
  const indexes = new Map<YAMLMap, Map<string, Pair>>();
  const pairOf = (map: YAMLMap, key: string) => {
    let index = indexes.get(map);
    if (!index) {
      index = new Map(map.items.map((pair) => [keyText(pair.key), pair]));
      indexes.set(map, index);
    }
    return index.get(key);
  };
  return (path) => {
    let node: Node | undefined | null = document.contents;
    let offset = node?.range?.[0];
    for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[([^[\]]*)\]/g)) {
      if (isAlias(node)) {
        targets ??= aliasTargets(document);
        node = targets.get(node);
      }
      if (isSeq(node)) {
        const item = node.items[Number(index)] as Node | undefined;
        if (!item) break;
        node = item;
        offset = item.range?.[0] ?? offset;
      } else if (isMap(node)) {
        const pair = pairOf(node, name ?? index ?? "");
        if (!pair) break;
        offset = (pair.key as Node).range?.[0] ?? offset;
        node = pair.value as Node | null;
      } else break;
    }
    return offset === undefined ? undefined : positionAt(offset);
  };
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key);
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? text;
}

function fail(message: string, position?: Position, field?: string): { problem: DocumentProblem } {
  return { problem: { message, ...position, ...(field && { field }) } };
}

/**
 * Scalars as Kubernetes tools read them: YAML 1.1, where `yes` is true and 0644 is octal (file modes), but dates and
 * `12:30` remain strings.
 */
function kubernetesTags(tags: Tags): Tags {
  const kept = (tags as Tag[]).filter(
    (tag) => !excluded.has(tag.tag) && (tag as { format?: string }).format !== "TIME",
  );
  return [prefixedOctal, ...kept];
}
