import { KubeletError } from "./errors.ts";
import type { Fields, Logger } from "./logger.ts";

/** True if nobody answered a request, however the error was wrapped since. */
export function isUnreachable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof KubeletError && cause.code === "KubeTransport") return true;
  return false;
}

/** At this verbosity each request that found no API server is logged. */
const detail = 4;

/**
 * What to log a failed request with. That the API server cannot be reached is logged once, where connections are made: whoever
 * notices it too only adds details.
 */
export function failureLog(
  logger: Logger,
  level: "info" | "warn" | "error" | 2,
  error: unknown,
): (message: string, fields?: Fields) => void {
  if (isUnreachable(error)) return logger.debug.bind(logger, detail);
  return typeof level === "number" ? logger.debug.bind(logger, level) : logger[level].bind(logger);
}
