import type { Fields, Logger } from "./logger.ts";

const reported = new WeakSet<Error>();

/** Errors that were already logged where they occurred: many callers fail for the same reason. */
export function markReported<E>(error: E): E {
  if (error instanceof Error) reported.add(error);
  return error;
}

/** True if the error, or its cause, was logged where it occurred. */
export function isReported(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (reported.has(cause)) return true;
  return false;
}

/** At this verbosity each request that found no API server is logged. */
const detail = 4;

/**
 * How to log a failed request. An unreachable API server is logged once, where connections are made: callers
 * only add details. All other failures, such as a missing response, are logged by the caller.
 */
export function failureLog(
  logger: Logger,
  level: "info" | "warn" | "error" | 2,
  error: unknown,
): (message: string, fields?: Fields) => void {
  if (isReported(error)) return logger.debug.bind(logger, detail);
  return typeof level === "number" ? logger.debug.bind(logger, level) : logger[level].bind(logger);
}
