import { type Document, LineCounter, parseAllDocuments } from "yaml";
import { messageOf } from "../base/errors.ts";
import { dnsLabel, dnsSubdomain, type Messages } from "../base/name-rules.ts";
import { checkConversion } from "../base/yaml-conversion.ts";

/** One pod of a file, with the text that defines it. */
export interface PodDocument {
  readonly namespace: string;
  readonly name: string;
  readonly text: string;
  /** The number of lines in the file before the text; undefined if the text was generated. */
  readonly linesBefore?: number;
  /** The position in a list: "items[2]". */
  readonly at?: string;
}

export interface DocumentProblem {
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

export type PodDocuments =
  | { readonly documents: readonly PodDocument[] }
  | { readonly problems: readonly DocumentProblem[] };

const maxAliases = 100;

/** The pods of a YAML or JSON file: any number of documents, including lists. The agent validates them. */
export function podDocuments(text: string): PodDocuments {
  try {
    const json = jsonOf(text);
    return json === undefined ? yamlDocuments(text) : podsOf(json, text, 0);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { problems: [{ message: "nested too deeply" }] };
  }
}

function yamlDocuments(text: string): PodDocuments {
  const lines = new LineCounter();
  const options = { lineCounter: lines, prettyErrors: false, merge: true, uniqueKeys: false } as const;
  const parsed = parseAllDocuments(text, { version: "1.1", ...options, logLevel: "silent" });
  const found: PodDocument[] = [];
  const problems: DocumentProblem[] = [];
  let end = 0;
  for (const document of parsed as Document.Parsed[]) {
    const linesBefore = lines.linePos(end).line - 1;
    const part = text.slice(end, document.range[2]);
    end = document.range[2];
    const position = (offset: number) => {
      const { line, col: column } = lines.linePos(offset);
      return { line, column };
    };
    const start = position(document.contents?.range?.[0] ?? document.range[0]);
    const content = read(document);
    if ("message" in content) {
      const at = document.errors[0]?.pos[0];
      problems.push({ ...(at === undefined ? start : position(at)), message: content.message });
      continue;
    }
    if (content.value === null || content.value === undefined) continue;
    const result = podsOf(content.value, part, linesBefore);
    if ("documents" in result) found.push(...result.documents);
    else problems.push(...result.problems.map((problem) => ({ ...start, ...problem })));
  }
  if (problems.length > 0) return { problems };
  return found.length > 0 ? { documents: found } : { problems: [{ message: "contains no pod" }] };
}

/** The name of the pod's manifest. It is unique, because a namespace has no dots. */
export function manifestName({ namespace, name }: { namespace: string; name: string }): string {
  return namespace === "default" && !name.includes(".") ? name : `${namespace}.${name}`;
}

function read(document: Document.Parsed): { value: unknown } | { message: string } {
  const [error] = document.errors;
  if (error) return { message: error.message.split("\n", 1)[0] ?? "" };
  try {
    checkConversion(document);
    return { value: document.toJS({ maxAliasCount: maxAliases }) };
  } catch (thrown) {
    return { message: messageOf(thrown) };
  }
}

/** Parses JSON, including JSON that is not valid YAML, such as with tabs for indentation. */
function jsonOf(text: string): unknown {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function podsOf(value: unknown, text: string, linesBefore: number): PodDocuments {
  const { kind, items } = fieldsOf(value);
  if (kind !== "PodList" && kind !== "List") return podOf(value, { text, linesBefore });
  if (!Array.isArray(items)) return { problems: [{ message: "items: is not a list" }] };
  const documents: PodDocument[] = [];
  const problems: DocumentProblem[] = [];
  for (const [i, item] of (items as unknown[]).entries()) {
    const whole = kind === "PodList" ? { apiVersion: "v1", kind: "Pod", ...fieldsOf(item) } : item;
    const at = `items[${i}]`;
    const result = podOf(whole, { text: JSON.stringify(whole), at });
    if ("documents" in result) documents.push(...result.documents);
    else problems.push(...result.problems.map(({ message }) => ({ message: `${at}: ${message}` })));
  }
  return problems.length > 0 ? { problems } : { documents };
}

function podOf(value: unknown, where: { text: string; linesBefore?: number; at?: string }): PodDocuments {
  const { kind, metadata } = fieldsOf(value);
  if (kind !== "Pod") {
    const actual = typeof kind === "string" ? `"${kind}"` : "missing";
    return { problems: [{ message: `kind: ${actual}, and only pods can be applied` }] };
  }
  const { name, namespace = "default" } = fieldsOf(metadata);
  const wrong = (field: string, given: unknown, rule: (text: string) => Messages) => {
    const messages = typeof given === "string" && given !== "" ? rule(given) : ["Required value"];
    return messages.map((message) => ({ message: `metadata.${field}: ${message}` }));
  };
  const problems = [...wrong("name", name, dnsSubdomain), ...wrong("namespace", namespace, dnsLabel)];
  if (problems.length > 0) return { problems };
  return { documents: [{ name: String(name), namespace: String(namespace), ...where }] };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
