import { KubeletError } from "../../base/errors.ts";
import { GrowingBuffer } from "../../base/growing-buffer.ts";
import { KubeApiError, statusDetails } from "./api-error.ts";

/** No object is that large; such a line is not from a watch. */
const maxLineBytes = 16 * 1024 * 1024;

const newline = 0x0a;

/** Splits chunks into lines. Data after the last newline is buffered. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #start = new GrowingBuffer();

  constructor(maxBytes = maxLineBytes) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in this chunk. Splits bytes, not characters: no multi-byte character contains a newline. */
  *push(chunk: Uint8Array): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const line = chunk.subarray(start, end);
      start = end + 1;
      yield this.#whole(line);
    }
    if (start === chunk.length) return;
    this.#checkLength(chunk.length - start);
    this.#start.append(chunk.subarray(start));
  }

  /** A line that ends with these bytes. */
  #whole(end: Uint8Array): string {
    this.#checkLength(end.length);
    if (this.#start.length === 0)
      return Buffer.from(end.buffer, end.byteOffset, end.byteLength).toString("utf8");
    this.#start.append(end);
    return this.#start.take().toString("utf8");
  }

  #checkLength(more: number): void {
    if (this.#start.length + more > this.#maxBytes)
      throw new KubeletError("MalformedWatch", `a line of the watch is longer than ${this.#maxBytes} bytes`);
  }
}

/** An object as the API server sends it, before it is decoded. */
export type RawObject = { metadata?: { [field: string]: unknown } } & { [field: string]: unknown };

export interface ObjectEvent {
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: RawObject;
}

export type WatchEvent =
  | ObjectEvent
  /** All events up to this version were sent. `initialEventsEnd`: all initial objects have been sent. */
  | { type: "BOOKMARK"; resourceVersion: string; initialEventsEnd: boolean }
  /** The server ends the watch with an error Status. */
  | { type: "ERROR"; error: KubeApiError };

/** Parses a line of a watch. Throws for an invalid line, with which an event is lost. */
export function parseWatchEvent(line: string): WatchEvent | undefined {
  if (line.trim() === "") return undefined;
  const { type, object } = parseLine(line);
  if (typeof object !== "object" || object === null) throw malformed(line);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: object as RawObject };
    case "BOOKMARK":
      return bookmark(object as RawObject, line);
    case "ERROR":
      return { type, error: endOfWatch(object) };
    default:
      throw malformed(line);
  }
}

function parseLine(line: string): { type?: unknown; object?: unknown } {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch (cause) {
    throw malformed(line, cause);
  }
}

function bookmark(object: RawObject, line: string): WatchEvent {
  const { resourceVersion, annotations } = object.metadata ?? {};
  if (typeof resourceVersion !== "string" || resourceVersion === "") throw malformed(line);
  const marks = annotations as Record<string, unknown> | undefined;
  return {
    type: "BOOKMARK",
    resourceVersion,
    initialEventsEnd: marks?.["k8s.io/initial-events-end"] === "true",
  };
}

function endOfWatch(status: {
  code?: unknown;
  reason?: unknown;
  message?: unknown;
  details?: unknown;
}): KubeApiError {
  const details = statusDetails(status.details);
  const seconds = details?.retryAfterSeconds;
  return new KubeApiError({
    status: Number.isInteger(status.code) ? (status.code as number) : 500,
    reason: typeof status.reason === "string" ? status.reason : "",
    message: typeof status.message === "string" ? status.message : "the server ended the watch",
    details,
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  });
}

/** Begins the message of an error that quotes a watch event. Callers whose objects are secret redact the rest of it. */
export const malformedWatchEvent = "malformed watch event";

function malformed(line: string, cause?: unknown): KubeletError {
  const start = line.length > 60 ? `${line.slice(0, 60)}…` : line;
  return new KubeletError("MalformedWatch", `${malformedWatchEvent}: ${start}`, { cause });
}
