import type { IncomingMessage } from "node:http";
import { isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from "yaml";
import { abortable } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { isTooDeep } from "../../lib/base/json-value.ts";
import { checkConversion } from "../../lib/base/yaml-conversion.ts";
import type { GroupVersionKind } from "../definition.ts";
import { decodeProtobuf } from "../protobuf/protobuf.ts";
import { StatusError } from "../status-error.ts";
import { badRequest, tooLarge } from "./problems.ts";

export interface BodyLimits {
  readonly clock: Clock;
  readonly maxBytes: number;
  /** Timeout for receiving it. */
  readonly timeoutMs: number;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** The whole body. */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { clock, maxBytes, timeoutMs, signal } = limits;
  const encoding = request.headers["content-encoding"];
  if (encoding && encoding !== "identity")
    throw new StatusError(
      415,
      "UnsupportedMediaType",
      `the body of the request has a content encoding that is not supported: ${encoding}`,
    );
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let size = 0;
  return abortable(signal, (resolve, reject) => {
    const timeoutText = "Timeout: the body of the request was not received in time";
    const cancel = clock.after(timeoutMs, () => reject(new StatusError(408, "Timeout", timeoutText, {})));
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      reject(tooLarge(maxBytes));
      request.pause();
    };
    const onEnd = () => resolve(Buffer.concat(chunks));
    const onClose = () => reject(badRequest("unexpected EOF"));
    request.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose);
    return () => {
      cancel();
      request.off("data", onData).off("end", onEnd).off("error", onClose).off("close", onClose);
      request.on("error", () => {});
    };
  });
}

/** Further duplicate keys are not reported. */
const maxDuplicates = 100;

export type BodyEncoding = "json" | "yaml" | "protobuf";

export interface ParsedBody {
  readonly value: unknown;
  /** Descriptions of duplicate keys, as reported by the YAML parser. */
  readonly duplicates: readonly string[];
}

/** `expected` is the assumed type of a protobuf message that does not name its type. */
export function parseBody(body: Buffer, encoding: BodyEncoding, expected?: GroupVersionKind): ParsedBody {
  switch (encoding) {
    case "json":
      return {
        value: parseJson(body.toString("utf8"), "couldn't get version/kind; json parse error"),
        duplicates: [],
      };
    case "yaml":
      return parseYaml(body.toString("utf8"));
    case "protobuf":
      return { value: fromProtobuf(body, expected), duplicates: [] };
    default:
      return encoding satisfies never;
  }
}

/** Messages are nested as deeply as their types, but fields of managedFields contain JSON. */
function fromProtobuf(body: Buffer, expected: GroupVersionKind | undefined): unknown {
  const value = decodeProtobuf(body, expected);
  try {
    checkDepth(value);
    return value;
  } catch (error) {
    throw badRequest(messageOf(error));
  }
}

/** JSON is also YAML, but parsing it as JSON is far faster. */
export function parseYaml(text: string): ParsedBody {
  try {
    const value = jsonValue(text) ?? yamlValue(text);
    checkDepth(value.value);
    return value;
  } catch (error) {
    const firstMessage = firstLine(messageOf(error));
    // The parser reports an overflow of the stack as an error of the text.
    const overflow = error instanceof RangeError || /call stack/.test(firstMessage);
    const message = overflow ? "exceeded max depth" : firstMessage;
    throw badRequest(`error converting YAML to JSON: yaml: ${message}`);
  }
}

/** Undefined if the text is not JSON. YAML in flow style starts with a brace, too. */
function jsonValue(text: string): ParsedBody | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text), duplicates: [] };
  } catch {
    return undefined;
  }
}

function yamlValue(text: string): ParsedBody {
  const lines = new LineCounter();
  // The parser's check of unique keys is quadratic.
  const document = parseDocument(text, { uniqueKeys: false, lineCounter: lines, logLevel: "error" });
  const [syntaxError] = document.errors;
  if (syntaxError) throw syntaxError;
  checkConversion(document);
  const duplicates: string[] = [];
  const visit = (node: unknown): void => {
    if (isSeq(node)) node.items.forEach(visit);
    if (!isMap<ParsedNode, ParsedNode | null>(node)) return;
    const keys = new Set<unknown>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? key.value : key;
      if (keys.has(name) && duplicates.length < maxDuplicates)
        duplicates.push(
          `line ${lines.linePos(key.range[0]).line}: key ${JSON.stringify(String(name))} already set in map`,
        );
      keys.add(name);
      visit(value);
    }
  };
  visit(document.contents);
  return { value: document.toJS({ maxAliasCount: 100 }), duplicates };
}

function checkDepth(value: unknown): void {
  if (isTooDeep(value)) throw new Error("exceeded max depth");
}

/** Throws a bad request whose message begins with `what` if it is not JSON, or is nested too deeply. */
export function parseJson(text: string, what: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    checkDepth(value);
    return value;
  } catch (error) {
    throw badRequest(`${what}: ${messageOf(error)}`);
  }
}

function firstLine(message: string): string {
  return message.split("\n")[0]!;
}
