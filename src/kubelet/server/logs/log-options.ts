import { epochMs, type WallTime } from "../../../lib/base/time.ts";
import type { LogStream } from "./log-entry.ts";
import { type LogTime, parseLogTime } from "./log-time.ts";

/** The requested part of a container's log. */
export interface LogQuery {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly since?: LogTime;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream?: LogStream;
}

export interface LogQueryError {
  readonly status: number;
  readonly message: string;
}

/** The time of an empty `sinceTime`, which is before all log times. */
const beginning: LogTime = { ms: Number.NEGATIVE_INFINITY, nanos: 0 };
const undecodable: LogQueryError = { status: 400, message: '{"message": "Unable to decode query."}' };
const invalid: LogQueryError = { status: 422, message: '{"message": "Invalid request."}' };

/** Parses a query as PodLogOptions. `splitStreams` is the feature gate PodLogsQuerySplitStreams. */
export function parseLogQuery(
  query: URLSearchParams,
  { now, splitStreams }: { now: WallTime; splitStreams: boolean },
): LogQuery | LogQueryError {
  const tail = tailOf(query);
  const tailLines = integer(tail);
  const limitBytes = integer(query.get("limitBytes"));
  const sinceSeconds = integer(query.get("sinceSeconds"));
  const sinceTime = moment(query.get("sinceTime"));
  if ([tailLines, limitBytes, sinceSeconds, sinceTime].includes("bad")) return undecodable;
  const numbers = { tailLines, limitBytes, sinceSeconds } as Record<string, number | undefined>;
  const stream = query.get("stream") ?? "All";
  if (!areValid(numbers, sinceTime !== undefined, stream)) return invalid;
  if (stream !== "All" && !splitStreams) return noSplit(stream);
  const since = sinceOf(numbers.sinceSeconds, sinceTime as LogTime | undefined, now);
  return {
    follow: flag(query.get("follow")),
    previous: flag(query.get("previous")),
    timestamps: flag(query.get("timestamps")),
    ...(since && { since }),
    ...(numbers.tailLines !== undefined && { tailLines: numbers.tailLines }),
    ...(numbers.limitBytes !== undefined && { limitBytes: numbers.limitBytes }),
    ...(stream !== "All" && { stream: stream === "Stdout" ? "stdout" : "stderr" }),
  };
}

/** Old clients use `tail`, which takes precedence, and "all" for no limit. */
function tailOf(query: URLSearchParams): string | null {
  const tail = query.get("tail");
  if (!tail) return query.get("tailLines");
  return tail === "all" ? null : tail;
}

function areValid(numbers: Record<string, number | undefined>, hasTime: boolean, stream: string): boolean {
  const { tailLines, limitBytes, sinceSeconds } = numbers;
  if (tailLines !== undefined && (tailLines < 0 || stream !== "All")) return false;
  if (limitBytes !== undefined && limitBytes < 1) return false;
  if (sinceSeconds !== undefined && (sinceSeconds < 1 || hasTime)) return false;
  return stream === "All" || stream === "Stdout" || stream === "Stderr";
}

function noSplit(stream: string): LogQueryError {
  return {
    status: 400,
    message: `unable to return the given log stream: "${stream}". Please enable PodLogsQuerySplitStreams feature gate in kubelet`,
  };
}

function sinceOf(seconds: number | undefined, time: LogTime | undefined, now: WallTime): LogTime | undefined {
  if (seconds !== undefined) return { ms: epochMs(now) - seconds * 1000, nanos: 0 };
  return time === beginning ? undefined : time;
}

function flag(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

/** A 64-bit integer as Go parses it; precision beyond 2^53 does not matter. */
function integer(value: string | null): number | undefined | "bad" {
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) return "bad";
  const exact = BigInt(value.replace(/^\+/, ""));
  return BigInt.asIntN(64, exact) === exact ? Number(exact) : "bad";
}

function moment(value: string | null): LogTime | undefined | "bad" {
  if (value === null) return undefined;
  if (value === "" || value === "null") return beginning;
  return parseLogTime(value) ?? "bad";
}
