import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { KubeApiError, TransportError } from "../../../lib/clients/kube/api-error.ts";
import { ConnectionLost } from "../../../lib/clients/kube/server-connection.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import { type AccessFilter, accessFilter } from "./access-filter.ts";
import { RequestAuthenticator } from "./authenticator.ts";
import { AccessReviews, type Authorizer, alwaysAllow, alwaysDeny } from "./authorizer.ts";
import { ClientCertificates } from "./client-certificates.ts";
import { countedReviews, type Reviewer, tokenCacheMetrics } from "./review-metrics.ts";
import { TokenReviews } from "./tokens.ts";

const maxAttempts = 5;

const firstWaitMs = 500;

const waitFactor = 1.5;

export { type AccessFilter, allowAll } from "./access-filter.ts";
export { attributesOf } from "./attributes.ts";
export { clientCaOf, setClientCa } from "./handshake.ts";

export interface AccessOptions {
  readonly nodeName: string;
  /** Durations in milliseconds. */
  readonly authentication: {
    readonly anonymous: boolean;
    readonly webhook: boolean;
    readonly cacheTtlMs: number;
  };
  readonly authorization: {
    readonly mode: "AlwaysAllow" | "Webhook";
    readonly allowedTtlMs: number;
    readonly deniedTtlMs: number;
  };
  /** The current PEM of clientCAFile; undefined without one. */
  readonly clientCa: () => string | undefined;
  /** The gate AllowParsingUserUIDFromCertAuth; on by default. */
  readonly readsUidOfCertificates?: boolean;
  /** Absent without a cluster. Tokens then cannot be verified, and no client is authorized unless all are. */
  readonly transport?: KubeTransport;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

/** Authentication and authorization as configured. */
export function nodeAccess(o: AccessOptions): AccessFilter {
  const { transport, clock, logger, metrics, authentication } = o;
  const certificates = new ClientCertificates({
    authorities: o.clientCa,
    readsUid: o.readsUidOfCertificates ?? true,
    clock,
    metrics,
  });
  const filter = accessFilter({
    authenticator: new RequestAuthenticator({
      certificates,
      tokens:
        transport && authentication.webhook
          ? new TokenReviews({
              transport: retriedReviews(countedReviews("authn", transport, o), clock),
              ttlMs: authentication.cacheTtlMs,
              clock,
              metrics: metrics && tokenCacheMetrics(metrics),
            })
          : undefined,
      anonymous: authentication.anonymous,
      logger,
    }),
    authorizer: authorizer(o),
    logger,
  });
  return { ...filter, trusts: (socket) => certificates.trusts(socket) };
}

function authorizer(o: AccessOptions): Authorizer {
  const { authorization, nodeName, clock } = o;
  if (authorization.mode === "AlwaysAllow") return alwaysAllow;
  if (!o.transport) return alwaysDeny;
  const transport = retriedReviews(countedReviews("authz", o.transport, o), clock);
  return new AccessReviews({ transport, nodeName, clock, ...authorization });
}

/**
 * The same client of the cluster; a failed review is retried. Reviews change nothing, and callers should not be
 * rejected because the API server was just restarting.
 */
function retriedReviews(reviewer: Reviewer, clock: Clock): Reviewer {
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
