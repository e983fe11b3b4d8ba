import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import type { TokenReview } from "../../../lib/gen/kubernetes/authentication.d.ts";
import type { AuthenticationResult } from "./client-certificates.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import type { Identity } from "./identity.ts";
import type { Reviewer, TokenCacheMetrics } from "./review-metrics.ts";

const reviewTimeoutMs = 10_000;
const protocolPrefix = "base64url.bearer.authorization.k8s.io.";

/** Authenticates by TokenReview, and caches the result for a while. */
export class TokenReviews {
  readonly #transport: Reviewer;
  readonly #ttlMs: number;
  readonly #clock: Clock;
  readonly #metrics: TokenCacheMetrics | undefined;
  readonly #cache: ExpiringCache<AuthenticationResult>;
  /** The cache must not contain tokens. */
  readonly #secret = randomBytes(32);

  constructor(o: {
    transport: Reviewer;
    ttlMs: number;
    clock: Clock;
    metrics?: TokenCacheMetrics | undefined;
  }) {
    this.#clock = o.clock;
    this.#metrics = o.metrics;
    this.#transport = o.transport;
    this.#ttlMs = o.ttlMs;
    this.#cache = new ExpiringCache(o.clock);
  }

  /** Throws if the cluster could not be reached. */
  async authenticate(token: string): Promise<AuthenticationResult> {
    const key = createHmac("sha256", this.#secret).update(token).digest("base64");
    const began = this.#clock.monotonic();
    let fetched = false;
    let ok = false;
    try {
      const result = await this.#cache.get(
        key,
        () => {
          fetched = true;
          return this.#review(token);
        },
        () => this.#ttlMs,
      );
      ok = true;
      return result;
    } finally {
      this.#metrics?.reviewed(fetched, ok, msSince(this.#clock, began) / 1000);
    }
  }

  async #review(token: string): Promise<AuthenticationResult> {
    const { status } = await this.#transport.request<TokenReview>({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
      timeoutMs: reviewTimeoutMs,
    });
    const user = status?.user;
    const { username, groups = [] } = user ?? {};
    // A response of other types than the API's must not identify anyone.
    const isValid = typeof username === "string" && Array.isArray(groups ?? []);
    if (status?.authenticated !== true || !username || !isValid)
      return { kind: "rejected", problem: status?.error || "invalid bearer token" };
    const identity: Identity = {
      name: username,
      groups: (groups ?? []).map(String),
      ...(user?.uid && { uid: user.uid }),
      ...(user?.extra && { extra: user.extra }),
    };
    return { kind: "authenticated", identity };
  }
}

/** The token of a request: in its header, or, because browsers cannot set that, in the WebSocket protocols. */
export function bearerToken(request: IncomingMessage): string | undefined {
  const [scheme, token] = (request.headers.authorization ?? "").trim().split(" ");
  if (scheme?.toLowerCase() === "bearer" && token) return token;
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const carrier = offered.find((name) => name.startsWith(protocolPrefix));
  if (carrier === undefined || request.headers.upgrade?.toLowerCase() !== "websocket") return undefined;
  // The token is removed from the offered protocols, because it is not a protocol.
  request.headers["sec-websocket-protocol"] = offered.filter((name) => name !== carrier).join(", ");
  const decoded = Buffer.from(carrier.slice(protocolPrefix.length), "base64url").toString("utf8");
  return decoded === "" ? undefined : decoded;
}
