import type { Clock } from "../../../lib/base/clock.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import type { Identity } from "./identity.ts";
import type { Reviewer } from "./review-metrics.ts";

export interface Permission {
  readonly verb: string;
  readonly subresource: string;
}

export interface Authorizer {
  /** Throws if the review failed. */
  allows(identity: Identity, permission: Permission): Promise<boolean>;
}

export const alwaysAllow: Authorizer = { allows: async () => true };

/** Without a cluster there are no access reviews, and the configuration authorizes no one. */
export const alwaysDeny: Authorizer = { allows: async () => false };

const reviewTimeoutMs = 10_000;
/** Longer keys are not cached: callers choose their own names and groups. */
const maxKeyLength = 10_000;

/** Authorizes by SubjectAccessReview, and caches the result for a while. */
export class AccessReviews implements Authorizer {
  readonly #o: {
    readonly transport: Reviewer;
    readonly nodeName: string;
    readonly allowedTtlMs: number;
    readonly deniedTtlMs: number;
  };
  readonly #cache: ExpiringCache<boolean>;

  constructor(o: {
    transport: Reviewer;
    nodeName: string;
    allowedTtlMs: number;
    deniedTtlMs: number;
    clock: Clock;
  }) {
    this.#o = o;
    this.#cache = new ExpiringCache(o.clock);
  }

  allows(identity: Identity, { verb, subresource }: Permission): Promise<boolean> {
    const { nodeName, allowedTtlMs, deniedTtlMs } = this.#o;
    const { name: user, groups, uid, extra } = identity;
    const spec = {
      resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name: nodeName },
      user,
      groups,
      uid,
      extra,
    };
    const key = JSON.stringify(spec);
    if (key.length > maxKeyLength) return this.#review(spec);
    return this.#cache.get(
      key,
      () => this.#review(spec),
      (allowed) => (allowed ? allowedTtlMs : deniedTtlMs),
    );
  }

  async #review(spec: object): Promise<boolean> {
    const { status } = await this.#o.transport.request<{
      status?: { allowed?: boolean; denied?: boolean };
    }>({
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec },
      timeoutMs: reviewTimeoutMs,
    });
    return status?.allowed === true && status.denied !== true;
  }
}
