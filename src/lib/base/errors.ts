import type { MonotonicTime } from "./time.ts";

/** Marks the class in all bundles of the process. */
const mark = Symbol.for("kubelet-ts/KubeletError");

/** An error with a stable code, a message that a user can act on, and a cause. */
export class KubeletError extends Error {
  readonly code: string;
  /** When to retry, if known. */
  readonly retryAt: MonotonicTime | undefined;
  constructor(code: string, message: string, options?: { cause?: unknown; retryAt?: MonotonicTime }) {
    super(message, options);
    this.name = "KubeletError";
    this.code = code;
    this.retryAt = options?.retryAt;
  }

  get [mark](): boolean {
    return true;
  }
}

/** True for a KubeletError, including one of another bundle, whose class is a different object. */
export function isKubeletError(error: unknown): error is KubeletError {
  return error instanceof Error && mark in error;
}

export function retryAtOf(error: unknown): MonotonicTime | undefined {
  return error instanceof KubeletError ? error.retryAt : undefined;
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One error of several, formatted as Kubernetes formats lists of errors: "[a, b]", each message once. */
export function joinErrors(errors: readonly unknown[]): Error {
  const [first] = errors;
  if (errors.length === 1 && first instanceof Error) return first;
  const messages = [...new Set(errors.map(messageOf))];
  const message = messages.length === 1 ? (messages[0] ?? "") : `[${messages.join(", ")}]`;
  return new KubeletError("Several", message, { cause: errors });
}

/** The errno name of a failed system call ("ENOENT"), or undefined. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

/** The status of an HTTP error response (404), or undefined if there was no response. */
export function httpStatusOf(error: unknown): number | undefined {
  const status = (error as { status?: unknown } | undefined)?.status;
  return typeof status === "number" ? status : undefined;
}

/** The result of the request, or undefined if the response is 404. */
export async function orNotFound<T>(requested: Promise<T>): Promise<T | undefined> {
  try {
    return await requested;
  } catch (error) {
    if (httpStatusOf(error) === 404) return undefined;
    throw error;
  }
}

/** A server, or a proxy before it, must not stop the writes of a node for longer. */
const maxRetryAfterMs = 60_000;

/** The Retry-After of the response, if it had one; at most a minute. */
export function retryAfterOf(error: unknown): number | undefined {
  const ms = (error as { retryAfterMs?: unknown } | undefined)?.retryAfterMs;
  return typeof ms === "number" && ms >= 0 ? Math.min(ms, maxRetryAfterMs) : undefined;
}

/** True if the error only reports that the work was aborted. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || errnoOf(error) === "ABORT_ERR");
}

export function abortError(reason?: unknown): Error {
  const error = new Error("aborted", { cause: reason });
  error.name = "AbortError";
  return error;
}
