import { STATUS_CODES } from "node:http";
import { KubeletError } from "../../base/errors.ts";
import { isObject } from "../../base/json-value.ts";
import { msBetween, type WallTime, wallTime } from "../../base/time.ts";
import type { StatusDetails } from "../../gen/kubernetes/meta.d.ts";
import { shortened } from "../plugin-rpc/shortened.ts";

/** The texts of a server are repeated in events, statuses and the log. */
const maxMessage = 10 * 1024;
const maxReason = 256;

/** The API server responded with an error. */
export class KubeApiError extends KubeletError {
  /** The HTTP status: 404, 409, … */
  readonly status: number;
  /** The API's reason: "NotFound", "AlreadyExists", "Conflict", "Expired", … */
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** How long the server wants us to wait before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor(response: {
    status: number;
    reason: string;
    message: string;
    details?: StatusDetails;
    retryAfterMs?: number;
  }) {
    super("KubeApi", shortened(response.message, maxMessage));
    this.name = "KubeApiError";
    this.status = response.status;
    this.reason = shortened(response.reason, maxReason);
    this.details = response.details;
    this.retryAfterMs = response.retryAfterMs;
  }
}

/** There was no response, or it was truncated. Whether the server processed the request is unknown. */
export class TransportError extends KubeletError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("KubeTransport", message, options);
    this.name = "TransportError";
  }
}

// The API reason for an HTTP status without a Status object, as from a proxy.
const reasons: Record<number, string> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** For a body that is no Status object, such as the page of a proxy. */
const maxBody = 2048;

/** The error for a response of 400 and above, whether or not its body is a Status. */
export function apiError(response: {
  method: string;
  url: string;
  status: number;
  retryAfter?: string | undefined;
  body: string;
  now: WallTime;
}): KubeApiError {
  const { status } = response;
  const statusBody = statusObject(response.body);
  const detail = statusBody ? text(statusBody.message) : response.body.trim().slice(0, maxBody);
  const details = statusDetails(statusBody?.details);
  const fromBody = details?.retryAfterSeconds;
  return new KubeApiError({
    status,
    reason: text(statusBody?.reason) || reasons[status] || "Unknown",
    message:
      detail || `${response.method} ${response.url}: ${status} ${STATUS_CODES[status] ?? "unknown status"}`,
    details,
    retryAfterMs:
      retryAfterMs(response.retryAfter, response.now) ??
      (fromBody !== undefined && fromBody > 0 ? fromBody * 1000 : undefined),
  });
}

/** The fields that have their type: a proxy may respond with anything. */
export function statusDetails(value: unknown): StatusDetails | undefined {
  if (!isObject(value)) return undefined;
  const { retryAfterSeconds: seconds, causes } = value;
  return {
    ...textsOf(value, ["name", "group", "kind", "uid"]),
    ...(typeof seconds === "number" && { retryAfterSeconds: seconds }),
    ...(Array.isArray(causes) && {
      causes: causes.filter(isObject).map((cause) => textsOf(cause, ["reason", "message", "field"])),
    }),
  };
}

function textsOf<K extends string>(
  value: Readonly<Record<string, unknown>>,
  names: readonly K[],
): Partial<Record<K, string>> {
  const texts: Partial<Record<K, string>> = {};
  for (const name of names) if (typeof value[name] === "string") texts[name] = value[name];
  return texts;
}

/** Retry-After is a number of seconds or a date. */
export function retryAfterMs(header: string | undefined, now: WallTime): number | undefined {
  const value = header?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const ms = msBetween(now, wallTime(value));
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function statusObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const isStatus =
      typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "Status";
    return isStatus ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
