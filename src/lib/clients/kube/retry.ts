import { KubeApiError } from "./api-error.ts";
import { ConnectionLost } from "./link.ts";

/** As many tries as the reference client makes. */
export const maxTries = 11;
/** A longer Retry-After is passed to the caller, who may have something better to do. */
const maxWaitMs = 30_000;

/** How long to wait before the same request is sent again; undefined: not at all. */
export function retryAfter(failure: unknown, tries: number, method: string): number | undefined {
  if (tries >= maxTries) return undefined;
  if (failure instanceof KubeApiError) {
    // Such a server has not processed the request; without Retry-After it does not expect another attempt.
    const wantsRetry = failure.status === 429 || failure.status >= 500;
    const wait = failure.retryAfterMs;
    return wantsRetry && wait !== undefined && wait <= maxWaitMs ? wait : undefined;
  }
  if (failure instanceof ConnectionLost) {
    // Reading twice does no harm, but only an old connection may have been closed for no reason of ours.
    const harmless = failure.untouched || (method === "GET" && failure.reused);
    return harmless && tries <= 2 ? 0 : undefined;
  }
  return undefined;
}
