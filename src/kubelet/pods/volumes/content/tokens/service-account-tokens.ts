import { orAbort } from "../../../../../lib/base/abort.ts";
import { type Clock, msFromNow, msSince } from "../../../../../lib/base/clock.ts";
import { httpStatusOf, KubeletError, messageOf } from "../../../../../lib/base/errors.ts";
import { failureLog } from "../../../../../lib/base/failure-log.ts";
import type { Logger } from "../../../../../lib/base/logger.ts";
import type { Metrics } from "../../../../../lib/base/metrics.ts";
import { type MonotonicTime, plusMs, type WallTime } from "../../../../../lib/base/time.ts";
import type { KubeTransport } from "../../../../../lib/clients/kube/transport-interface.ts";
import type { Pod, PodUid } from "../../../../../lib/model/pod.ts";
import {
  readToken,
  renewAfterMs,
  type Token,
  type TokenRequest,
  type TokenResponse,
  tokenBody,
  tokenKey,
  tokenPath,
} from "./token-request.ts";

export interface ServiceAccountTokensOptions {
  /** Undefined on a node without an API server. */
  api: Pick<KubeTransport, "request"> | undefined;
  clock: Clock;
  logger: Logger;
  metrics?: Metrics;
  random?: () => number;
}

interface CachedToken {
  readonly uid: PodUid;
  readonly token: Token;
  /** Undefined for a token that does not expire. */
  readonly renew: { readonly at: WallTime; readonly by: MonotonicTime } | undefined;
}

const requestMs = 10_000;
const sweepMs = 60_000;

/** Service account tokens for the pods of this node. In memory only. */
export class ServiceAccountTokens {
  readonly #o: ServiceAccountTokensOptions;
  readonly #cache = new Map<string, CachedToken>();
  /** Concurrent callers for the same token share one request. */
  readonly #pending = new Map<string, { readonly uid: PodUid; readonly response: Promise<Token> }>();
  readonly #count: (result: "success" | "failure") => void;
  #sweptAt: MonotonicTime | undefined;
  #isSupported: Promise<boolean> | undefined;

  constructor(options: ServiceAccountTokensOptions) {
    this.#o = options;
    const requests = options.metrics?.counter({
      name: "kubelet_ts_token_requests_total",
      help: "Service account tokens requested from the API server",
      labels: ["result"],
    });
    this.#count = (result) => requests?.inc({ result });
    options.metrics?.gauge({
      name: "kubelet_ts_tokens",
      help: "Tokens of service accounts in memory",
      collect: (gauge) => gauge.set(this.#cache.size),
    });
  }

  /** The cached token, or a new one when it has to be renewed. If the renewal fails, the cached one while it is valid. */
  async token(request: TokenRequest, signal?: AbortSignal): Promise<Token> {
    this.#sweep();
    const { clock, logger } = this.#o;
    const key = tokenKey(request);
    const cached = this.#cache.get(key);
    if (cached && !this.#needsRenewal(cached)) return cached.token;
    try {
      return await orAbort(this.#fetch(key, request), signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      const cause = messageOf(error);
      if (!cached) throw new KubeletError("Token", `failed to fetch token: ${cause}`, { cause: error });
      if (clock.wall() > cached.token.expiresAt)
        throw new KubeletError("Token", `token ${key} expired and refresh failed: ${cause}`, {
          cause: error,
        });
      failureLog(
        logger,
        "error",
        error,
      )("Couldn't update token", { token: key, podUID: cached.uid, err: cause });
      return cached.token;
    }
  }

  /** A token of the pod's service account, bound to the pod. */
  get(
    { metadata: { name, namespace, uid }, spec }: Pod,
    { audiences, expirationSeconds }: Pick<TokenRequest, "audiences" | "expirationSeconds">,
    signal?: AbortSignal,
  ): Promise<Token> {
    const serviceAccount = spec.serviceAccountName ?? "";
    const pod = { name, namespace, uid };
    return this.token({ namespace, serviceAccount, audiences, expirationSeconds, pod }, signal);
  }

  /** Call when the pod is gone. The token of a pending request is not cached. */
  delete(uid: PodUid): void {
    for (const map of [this.#cache, this.#pending])
      for (const [key, entry] of map) if (entry.uid === uid) map.delete(key);
  }

  #fetch(key: string, request: TokenRequest): Promise<Token> {
    const pending = this.#pending.get(key);
    if (pending) return pending.response;
    const { uid } = request.pod;
    const response = this.#request(request).then(
      (token) => {
        if (this.#pending.get(key)?.response === response) {
          this.#cache.set(key, { uid, token, renew: this.#renewal(token) });
          this.#pending.delete(key);
        }
        this.#count("success");
        return token;
      },
      (error: unknown) => {
        if (this.#pending.get(key)?.response === response) this.#pending.delete(key);
        this.#count("failure");
        throw error;
      },
    );
    // Waiting callers get the error; there may be none left.
    response.catch(() => {});
    this.#pending.set(key, { uid, response });
    return response;
  }

  async #request(request: TokenRequest): Promise<Token> {
    const { api } = this.#o;
    if (!api)
      throw new KubeletError("Standalone", "cannot use TokenManager when kubelet is in standalone mode");
    const send = () =>
      api.request<TokenResponse>({
        method: "POST",
        path: tokenPath(request),
        body: tokenBody(request),
        timeoutMs: requestMs,
      });
    try {
      return readToken(
        await send().catch((error) => {
          if (isUnknownPod(error)) return send();
          throw error;
        }),
      );
    } catch (error) {
      if (httpStatusOf(error) === 404 && !(await this.#supportsTokens(api)))
        throw new KubeletError("Token", "the API server does not have TokenRequest endpoints enabled", {
          cause: error,
        });
      throw error;
    }
  }

  /** A 404 may mean that the service account does not exist, or that the API server has no TokenRequest. */
  #supportsTokens(api: Pick<KubeTransport, "request">): Promise<boolean> {
    this.#isSupported ??= api
      .request<{ resources?: readonly { name?: string }[] }>({
        method: "GET",
        path: "/api/v1",
        timeoutMs: requestMs,
      })
      .then(({ resources }) => resources?.some(({ name }) => name === "serviceaccounts/token") ?? false)
      .catch(() => {
        // Whether the API serves tokens is not known. The next 404 checks it again.
        this.#isSupported = undefined;
        return true;
      });
    return this.#isSupported;
  }

  /** Whichever comes first: with a clock that was set back, wall time alone would keep an expired token. */
  #needsRenewal({ renew }: CachedToken): boolean {
    const { clock } = this.#o;
    return renew !== undefined && (clock.wall() >= renew.at || clock.monotonic() >= renew.by);
  }

  #renewal({ expiresAt, lifetimeMs }: Token): CachedToken["renew"] {
    if (lifetimeMs === undefined) return undefined;
    const { clock, random = Math.random } = this.#o;
    const afterMs = renewAfterMs(lifetimeMs, random);
    return { at: plusMs(expiresAt, afterMs - lifetimeMs), by: msFromNow(clock, afterMs) };
  }

  #sweep(): void {
    const { clock } = this.#o;
    if (this.#sweptAt !== undefined && msSince(clock, this.#sweptAt) < sweepMs) return;
    this.#sweptAt = clock.monotonic();
    for (const [key, { token }] of this.#cache) if (clock.wall() > token.expiresAt) this.#cache.delete(key);
  }
}

/**
 * The API server's caches may not contain a new pod yet: the node authorizer finds no relationship between node and pod, or
 * NodeRestriction finds a pod that is not scheduled.
 */
function isUnknownPod(error: unknown): boolean {
  return httpStatusOf(error) === 403 && /different node|no relationship found/.test(messageOf(error));
}
