import { KubeApiError } from "./api-error.ts";
import { ConnectionLost } from "./server-connection.ts";

/** As many attempts as client-go makes. */
export const maxTries = 11;
/** A longer Retry-After is left to the caller. */
const maxWaitMs = 30_000;

/** How long to wait before a retry; undefined: no retry. */
export function retryAfter(failure: unknown, tries: number, method: string): number | undefined {
  if (tries >= maxTries) return undefined;
  if (failure instanceof KubeApiError) {
    // Such a server has not processed the request; without Retry-After it does not expect another attempt.
    const wantsRetry = failure.status === 429 || failure.status >= 500;
    const wait = failure.retryAfterMs;
    return wantsRetry && wait !== undefined && wait <= maxWaitMs ? wait : undefined;
  }
  if (failure instanceof ConnectionLost) {
    // Reads are safe to retry, but only a reused connection may have been closed as idle.
    const isSafe = failure.unprocessed || (method === "GET" && failure.reused);
    return isSafe && tries <= 2 ? 0 : undefined;
  }
  return undefined;
}
