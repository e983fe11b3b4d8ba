import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { KubeApiError } from "../../../lib/clients/kube/api-error.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";

/** The API client for reviews. */
export type Reviewer = Pick<KubeTransport, "request">;

/** Wraps the API client, and counts its reviews of tokens ("authn") or access ("authz"). */
export function countedReviews(
  kind: "authn" | "authz",
  reviewer: Reviewer,
  { metrics, clock }: { metrics?: Metrics; clock: Clock },
): Reviewer {
  if (!metrics) return reviewer;
  const name = `apiserver_delegated_${kind}_request`;
  const labels = ["code"] as const;
  const total = metrics.counter({
    name: `${name}_total`,
    help: "Number of reviews sent to the API server, by status code",
    labels,
  });
  const times = metrics.histogram({
    name: `${name}_duration_seconds`,
    help: "Duration of reviews sent to the API server, by status code",
    labels,
    buckets: [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10],
  });
  const request = async <A>(call: Parameters<Reviewer["request"]>[0]): Promise<A> => {
    const began = clock.monotonic();
    let code = "<error>";
    try {
      const result = await reviewer.request<A>(call);
      // The transport does not return the status of a success. A successful review has status 201 (Created).
      code = "201";
      return result;
    } catch (error) {
      if (error instanceof KubeApiError) code = String(error.status);
      throw error;
    } finally {
      total.inc({ code });
      times.observe({ code }, msSince(clock, began) / 1000);
    }
  };
  return { request };
}

export interface TokenCacheMetrics {
  /** A token was reviewed; `fetched` if it was not cached. */
  reviewed(fetched: boolean, ok: boolean, seconds: number): void;
}

export function tokenCacheMetrics(metrics: Metrics): TokenCacheMetrics {
  const labels = ["status"] as const;
  const counter = (what: string, help: string) =>
    metrics.counter({ name: `authentication_token_cache_${what}_total`, help, labels });
  const requests = counter("request", "Token authentication requests, by cache status (hit or miss)");
  const fetches = counter("fetch", "Token reviews sent to the API server, by result");
  const times = metrics.histogram({
    name: "authentication_token_cache_request_duration_seconds",
    help: "Duration of token authentication requests, by cache status",
    labels,
  });
  return {
    reviewed(fetched, ok, seconds) {
      const status = fetched ? "miss" : "hit";
      requests.inc({ status });
      times.observe({ status }, seconds);
      if (fetched) fetches.inc({ status: ok ? "ok" : "error" });
    },
  };
}
