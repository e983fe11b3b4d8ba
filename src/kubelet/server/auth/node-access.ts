import type { Clock } from "../../../lib/base/clock.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import { type AccessFilter, accessFilter } from "./access-filter.ts";
import { RequestAuthenticator } from "./authenticator.ts";
import { AccessReviews, type Authorizer, alwaysAllow, alwaysDeny } from "./authorizer.ts";
import { ClientCertificates } from "./client-certificates.ts";
import { countedReviews, tokenCacheMetrics } from "./review-metrics.ts";
import { retriedReviews } from "./review-retry.ts";
import { TokenReviews } from "./tokens.ts";

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
  /** Absent without a cluster: then tokens cannot be verified, and no one is authorized unless everyone is. */
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
