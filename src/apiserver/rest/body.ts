import type { IncomingMessage } from "node:http";
import { parseDocument } from "yaml";
import type { Clock } from "../../lib/base/clock.ts";
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
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeoutMs, () => {
      finish();
      reject(
        new StatusError(408, "Timeout", "Timeout: the body of the request was not received in time", {}),
      );
    });
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      finish();
      request.pause();
      reject(tooLarge(maxBytes));
    };
    const onEnd = () => {
      finish();
      resolve(Buffer.concat(chunks));
    };
    const onClose = () => {
      finish();
      reject(badRequest("unexpected EOF"));
    };
    const onAbort = () => {
      finish();
      reject(signal.reason);
    };
    const finish = () => {
      cancel();
      signal.removeEventListener("abort", onAbort);
      request.off("data", onData).off("end", onEnd).off("error", onClose).off("close", onClose);
      request.on("error", () => {});
    };
    signal.addEventListener("abort", onAbort, { once: true });
    request.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose);
  });
}

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
      return { value: parseJson(body.toString("utf8")), duplicates: [] };
    case "yaml":
      return parseYaml(body.toString("utf8"));
    case "protobuf":
      return { value: decodeProtobuf(body, expected), duplicates: [] };
    default:
      return encoding satisfies never;
  }
}

/** JSON is also YAML, but parsing it as JSON is far faster. */
export function parseYaml(text: string): ParsedBody {
  if (/^\s*\{/.test(text)) {
    try {
      return { value: JSON.parse(text), duplicates: [] };
    } catch {
      // YAML in flow style starts like this, too.
    }
  }
  const document = parseDocument(text, { uniqueKeys: true });
  const twice = document.errors.filter((error) => error.code === "DUPLICATE_KEY");
  const syntaxError = document.errors.find((error) => error.code !== "DUPLICATE_KEY");
  if (syntaxError) throw badRequest(`error converting YAML to JSON: yaml: ${firstLine(syntaxError.message)}`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw badRequest(`error converting YAML to JSON: yaml: ${firstLine(String(error))}`);
  }
  const duplicates = twice.map(({ linePos, pos }) => {
    const key = /^["']?([^"':\s]+)/.exec(text.slice(pos[0]))?.[1] ?? "";
    return `line ${linePos?.[0].line ?? 0}: key ${JSON.stringify(key)} already set in map`;
  });
  return { value, duplicates };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`);
  }
}

function firstLine(message: string): string {
  return message.split("\n")[0]!;
}
