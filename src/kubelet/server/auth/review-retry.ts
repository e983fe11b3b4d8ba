import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { KubeApiError, TransportError } from "../../../lib/clients/kube/api-error.ts";
import { ConnectionLost } from "../../../lib/clients/kube/server-connection.ts";
import type { Reviewer } from "./review-metrics.ts";

const maxAttempts = 5;
const firstWaitMs = 500;
const waitFactor = 1.5;

/**
 * The same client of the cluster; a failed review is retried. Reviews change nothing, and callers should not be
 * rejected because the API server was just restarting.
 */
export function retriedReviews(reviewer: Reviewer, clock: Clock): Reviewer {
  return {
    async request(call) {
      for (let attempts = 1, waitMs = firstWaitMs; ; attempts++, waitMs *= waitFactor) {
        try {
          return await reviewer.request(call);
        } catch (error) {
          if (attempts >= maxAttempts || !isTransient(error)) throw error;
          await sleep(clock, waitMs, call.signal);
        }
      }
    },
  };
}

/** An unreachable API server is not retried: callers should not wait. */
function isTransient(error: unknown): boolean {
  if (error instanceof KubeApiError)
    return error.status === 429 || error.status === 500 || error.status === 504;
  return error instanceof TransportError && error.cause instanceof ConnectionLost;
}
