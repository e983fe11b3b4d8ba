import { createHash } from "node:crypto";
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments } from "yaml";
import { isObject } from "../../../../lib/base/json-value.ts";
import { configMapKey, dnsLabel, dnsSubdomain, type Messages } from "../../../../lib/base/name-rules.ts";
import { checkConversion } from "../../../../lib/base/yaml-conversion.ts";
import type { ApiObject } from "../api-object.ts";
import type { ObjectRef } from "../objects-of.ts";

export interface LocalObject extends ObjectRef {
  readonly object: ApiObject;
  readonly line: number;
}

/** A problem in a file: its location, and never the value, which may be secret. */
export interface FileProblem {
  readonly line?: number;
  readonly field?: string;
  readonly message: string;
}

export interface DecodedFile {
  readonly objects: readonly LocalObject[];
  readonly problems: readonly FileProblem[];
}

const maxObjectBytes = 1024 * 1024;
const maxAliases = 100;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The ConfigMaps and Secrets of a YAML or JSON file: any number of documents, including lists of them. Never throws. */
export function decodeObjects(text: string): DecodedFile {
  try {
    return decodeDocuments(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { objects: [], problems: [{ message: "is nested too deeply" }] };
  }
}

function decodeDocuments(text: string): DecodedFile {
  const lines = new LineCounter();
  const documents = parse(text, lines);
  const problems: FileProblem[] = [];
  const objects: LocalObject[] = [];
  for (const document of documents) {
    const error = document.errors[0];
    if (error) {
      // The parser's message may quote the text.
      problems.push({
        line: lines.linePos(error.pos[0]).line,
        message: `not valid YAML (${error.code.toLowerCase().replaceAll("_", " ")})`,
      });
      continue;
    }
    const reader = new ObjectReader(document, (offset) => lines.linePos(offset).line, problems);
    objects.push(...reader.read());
  }
  if (objects.length === 0 && problems.length === 0)
    problems.push({ message: "contains neither a ConfigMap nor a Secret" });
  return { objects, problems };
}

function parse(text: string, lines: LineCounter): Document.Parsed[] {
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    uniqueKeys: false,
    merge: true,
    prettyErrors: false,
    logLevel: "silent",
  }) as Document.Parsed[];
  if (documents.every((document) => document.errors.length === 0) || !/^\s*\{/.test(text)) return documents;
  // JSON that is not YAML, such as with tabs for indentation. The line numbers are lost.
  try {
    return parse(JSON.stringify(JSON.parse(text)), new LineCounter());
  } catch {
    return documents;
  }
}

type Path = readonly (string | number)[];
type Fields = Readonly<Record<string, unknown>>;

class ObjectReader {
  readonly #document: Document.Parsed;
  readonly #lineAt: (offset: number) => number;
  readonly #problems: FileProblem[];

  constructor(document: Document.Parsed, lineAt: (offset: number) => number, problems: FileProblem[]) {
    this.#document = document;
    this.#lineAt = lineAt;
    this.#problems = problems;
  }

  read(): LocalObject[] {
    const repeated = repeatedKey(this.#document.contents, []);
    if (repeated) {
      this.#addProblem(repeated, "is specified more than once");
      return [];
    }
    let value: unknown;
    try {
      checkConversion(this.#document);
      value = this.#document.toJS({ maxAliasCount: maxAliases });
    } catch {
      this.#addProblem([], "has too many aliases, an undefined one, or a list or a map as a key");
      return [];
    }
    return value === null || value === undefined ? [] : this.#objectsOf(value, []);
  }

  #objectsOf(value: unknown, path: Path): LocalObject[] {
    if (!isObject(value)) return this.#addProblem(path, "is not an object");
    const { kind, items, apiVersion } = value;
    if (apiVersion !== "v1") return this.#addProblem([...path, "apiVersion"], 'must be "v1"');
    if (kind === "List" || kind === "ConfigMapList" || kind === "SecretList") {
      if (!Array.isArray(items)) return this.#addProblem([...path, "items"], "is not a list");
      return items.flatMap((item: unknown, i) => this.#objectsOf(item, [...path, "items", i]));
    }
    if (kind !== "ConfigMap" && kind !== "Secret")
      return this.#addProblem([...path, "kind"], 'must be "ConfigMap" or "Secret"');
    const object = this.#object(kind, value, path);
    return object ? [object] : [];
  }

  #object(kind: "ConfigMap" | "Secret", value: Fields, path: Path): LocalObject | undefined {
    const before = this.#problems.length;
    const metadata = isObject(value.metadata) ? value.metadata : {};
    const { name, namespace = "default" } = metadata;
    this.#check([...path, "metadata", "name"], name, dnsSubdomain);
    this.#check([...path, "metadata", "namespace"], namespace, dnsLabel);
    const data = this.#values(value, "data", path, kind === "Secret");
    const other =
      kind === "Secret"
        ? this.#values(value, "stringData", path, false)
        : this.#values(value, "binaryData", path, true);
    const { immutable, type } = value;
    if (immutable !== undefined && typeof immutable !== "boolean")
      this.#addProblem([...path, "immutable"], "must be true or false");
    if (kind === "Secret" && type !== undefined && typeof type !== "string")
      this.#addProblem([...path, "type"], "is not a string");
    if (this.#problems.length > before) return undefined;
    const ref = { kind, namespace: String(namespace), name: String(name) };
    const content =
      kind === "Secret"
        ? { ...(typeof type === "string" && { type }), data: { ...data, ...encoded(other) } }
        : { ...(data && { data }), ...(other && { binaryData: other }) };
    const text = JSON.stringify(content);
    if (sizeOf(kind, content) > maxObjectBytes) {
      this.#addProblem(path, `is larger than ${maxObjectBytes} bytes`);
      return undefined;
    }
    const resourceVersion = createHash("sha256").update(text).digest("hex").slice(0, 16);
    const uid = `local-${ref.namespace}-${ref.name}`;
    return {
      ...ref,
      line: this.#lineOf(path) ?? 1,
      object: {
        metadata: { name: ref.name, namespace: ref.namespace, uid, resourceVersion },
        ...(immutable === true && { immutable }),
        ...content,
      },
    };
  }

  #values(
    value: Fields,
    field: "data" | "stringData" | "binaryData",
    path: Path,
    isBase64: boolean,
  ): Record<string, string> | undefined {
    const values = value[field];
    if (values === undefined || values === null) return undefined;
    const at = [...path, field];
    if (!isObject(values)) {
      this.#addProblem(at, "is not a map of strings");
      return undefined;
    }
    const kept: Record<string, string> = {};
    for (const [key, text] of Object.entries(values)) {
      const messages = configMapKey(key);
      if (messages.length > 0) this.#addProblem([...at, key], messages.join("; "));
      else if (typeof text !== "string") this.#addProblem([...at, key], "is not a string: put it in quotes");
      else if (isBase64 && !base64.test(text.replace(/\s+/g, "")))
        this.#addProblem([...at, key], "is not base64");
      else kept[key] = isBase64 ? text.replace(/\s+/g, "") : text;
    }
    return kept;
  }

  #check(path: Path, value: unknown, rule: (text: string) => Messages): void {
    if (typeof value !== "string" || value === "") this.#addProblem(path, "is not a valid name");
    else for (const message of rule(value)) this.#addProblem(path, message);
  }

  #addProblem(path: Path, message: string): never[] {
    const field = path
      .map((part, i) => (typeof part === "number" ? `[${part}]` : i === 0 ? part : `.${part}`))
      .join("");
    const line = this.#lineOf(path);
    this.#problems.push({ ...(line && { line }), ...(field && { field }), message });
    return [];
  }

  /** The line of a field, or of its nearest parent that exists. */
  #lineOf(path: Path): number | undefined {
    let node = this.#document.contents as Node | null | undefined;
    let offset = node?.range?.[0];
    for (const part of path) {
      if (isSeq(node)) {
        node = node.items[Number(part)] as Node | undefined;
        offset = node?.range?.[0] ?? offset;
      } else if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === part);
        if (!pair) break;
        offset = (pair.key as Node).range?.[0] ?? offset;
        node = pair.value as Node | null;
      } else break;
    }
    return offset === undefined ? undefined : this.#lineAt(offset);
  }
}

function repeatedKey(node: unknown, path: Path): Path | undefined {
  if (isSeq(node)) {
    for (const [i, item] of node.items.entries()) {
      const found = repeatedKey(item, [...path, i]);
      if (found) return found;
    }
  }
  if (!isMap(node)) return undefined;
  const seen = new Set<string>();
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value) : "";
    if (seen.has(name) && name !== "<<") return [...path, name];
    seen.add(name);
    const found = repeatedKey(value, [...path, name]);
    if (found) return found;
  }
  return undefined;
}

function encoded(values: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const entries = Object.entries(values ?? {});
  return Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}

function sizeOf(kind: "ConfigMap" | "Secret", content: object): number {
  const { data = {}, binaryData = {} } = content as Record<string, Record<string, string> | undefined>;
  const bytes = (values: object, encoding: "utf8" | "base64") =>
    Object.values(values).reduce((sum: number, text: string) => sum + Buffer.byteLength(text, encoding), 0);
  return bytes(data, kind === "Secret" ? "base64" : "utf8") + bytes(binaryData, "base64");
}
