import type { Fields, Logger } from "./logger.ts";

const reported = new WeakSet<Error>();

/** Whoever has a failure fails for the same reason as many others, and that reason is logged once, where it arises. */
export function markReported<E>(error: E): E {
  if (error instanceof Error) reported.add(error);
  return error;
}

/** True if the error, or what caused it, is logged where it arises. */
export function isReported(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (reported.has(cause)) return true;
  return false;
}

/** At this verbosity each request that found no API server is logged. */
const detail = 4;

/**
 * What to log a failed request with. That the API server cannot be reached is logged once, where connections are made: whoever
 * notices it too only adds details. All other failures, as that there is no answer, are the caller's to log.
 */
export function failureLog(
  logger: Logger,
  level: "info" | "warn" | "error" | 2,
  error: unknown,
): (message: string, fields?: Fields) => void {
  if (isReported(error)) return logger.debug.bind(logger, detail);
  return typeof level === "number" ? logger.debug.bind(logger, level) : logger[level].bind(logger);
}
