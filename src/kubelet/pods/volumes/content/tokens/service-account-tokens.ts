import { type Clock, msFromNow, msSince } from "../../../../../lib/base/clock.ts";
import { abortError, httpStatusOf, KubeletError, messageOf } from "../../../../../lib/base/errors.ts";
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
  /** None in a node without an API server. */
  api: Pick<KubeTransport, "request"> | undefined;
  clock: Clock;
  logger: Logger;
  metrics?: Metrics;
  random?: () => number;
}

interface Kept {
  readonly uid: PodUid;
  readonly token: Token;
  /** Undefined for one that does not end. */
  readonly renew: { readonly at: WallTime; readonly by: MonotonicTime } | undefined;
}

const requestMs = 10_000;
const sweepMs = 60_000;

/** Tokens of service accounts for pods of this node. In memory only. */
export class ServiceAccountTokens {
  readonly #o: ServiceAccountTokensOptions;
  readonly #kept = new Map<string, Kept>();
  /** Who asks while somebody else has asked already waits for the same answer. */
  readonly #asked = new Map<string, { readonly uid: PodUid; readonly answer: Promise<Token> }>();
  readonly #count: (result: "success" | "failure") => void;
  #sweptAt: MonotonicTime | undefined;
  #isOffered: Promise<boolean> | undefined;

  constructor(options: ServiceAccountTokensOptions) {
    this.#o = options;
    const requests = options.metrics?.counter({
      name: "kubelet_ts_token_requests_total",
      help: "Tokens of service accounts that the API server was asked for",
      labels: ["result"],
    });
    this.#count = (result) => requests?.inc({ result });
    options.metrics?.gauge({
      name: "kubelet_ts_tokens",
      help: "Tokens of service accounts in memory",
      collect: (gauge) => gauge.set(this.#kept.size),
    });
  }

  /** The one that is known, or a new one when that is about to end. One that still is good is better than none. */
  async token(request: TokenRequest, signal?: AbortSignal): Promise<Token> {
    this.#sweep();
    const { clock, logger } = this.#o;
    const key = tokenKey(request);
    const kept = this.#kept.get(key);
    if (kept && !this.#isOld(kept)) return kept.token;
    try {
      return await orAbort(this.#ask(key, request), signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      const cause = messageOf(error);
      if (!kept) throw new KubeletError("Token", `failed to fetch token: ${cause}`, { cause: error });
      if (clock.wall() > kept.token.expiresAt)
        throw new KubeletError("Token", `token ${key} expired and refresh failed: ${cause}`, {
          cause: error,
        });
      failureLog(
        logger,
        "error",
        error,
      )("Couldn't update token", { token: key, podUID: kept.uid, err: cause });
      return kept.token;
    }
  }

  /** One of the pod's own account, bound to the pod. */
  get(
    { metadata: { name, namespace, uid }, spec }: Pod,
    { audiences, expirationSeconds }: Pick<TokenRequest, "audiences" | "expirationSeconds">,
    signal?: AbortSignal,
  ): Promise<Token> {
    const serviceAccount = spec.serviceAccountName ?? "";
    const pod = { name, namespace, uid };
    return this.token({ namespace, serviceAccount, audiences, expirationSeconds, pod }, signal);
  }

  /** When nothing of the pod is left. An answer that is under way for it is not kept either. */
  forget(uid: PodUid): void {
    for (const map of [this.#kept, this.#asked])
      for (const [key, entry] of map) if (entry.uid === uid) map.delete(key);
  }

  #ask(key: string, request: TokenRequest): Promise<Token> {
    const asked = this.#asked.get(key);
    if (asked) return asked.answer;
    const { uid } = request.pod;
    const answer = this.#request(request).then(
      (token) => {
        if (this.#asked.get(key)?.answer === answer) {
          this.#kept.set(key, { uid, token, renew: this.#renewal(token) });
          this.#asked.delete(key);
        }
        this.#count("success");
        return token;
      },
      (error: unknown) => {
        if (this.#asked.get(key)?.answer === answer) this.#asked.delete(key);
        this.#count("failure");
        throw error;
      },
    );
    // Those who wait hear of a failure; there may be none of them left.
    answer.catch(() => {});
    this.#asked.set(key, { uid, answer });
    return answer;
  }

  async #request(request: TokenRequest): Promise<Token> {
    const { api } = this.#o;
    if (!api)
      throw new KubeletError("Standalone", "cannot use TokenManager when kubelet is in standalone mode");
    const ask = () =>
      api.request<TokenResponse>({
        method: "POST",
        path: tokenPath(request),
        body: tokenBody(request),
        timeoutMs: requestMs,
      });
    try {
      return readToken(
        await ask().catch((error) => {
          if (isUnknownPod(error)) return ask();
          throw error;
        }),
      );
    } catch (error) {
      if (httpStatusOf(error) === 404 && !(await this.#offersTokens(api)))
        throw new KubeletError("Token", "the API server does not have TokenRequest endpoints enabled", {
          cause: error,
        });
      throw error;
    }
  }

  /** A 404 may mean the account, or a server that knows of no tokens at all. */
  #offersTokens(api: Pick<KubeTransport, "request">): Promise<boolean> {
    this.#isOffered ??= api
      .request<{ resources?: readonly { name?: string }[] }>({
        method: "GET",
        path: "/api/v1",
        timeoutMs: requestMs,
      })
      .then(({ resources }) => resources?.some(({ name }) => name === "serviceaccounts/token") ?? false)
      .catch(() => {
        // Nobody can tell now; the next 404 asks again.
        this.#isOffered = undefined;
        return true;
      });
    return this.#isOffered;
  }

  /** Whichever comes first: a clock that is set back would keep a token that the API server does not take any more. */
  #isOld({ renew }: Kept): boolean {
    const { clock } = this.#o;
    return renew !== undefined && (clock.wall() >= renew.at || clock.monotonic() >= renew.by);
  }

  #renewal({ expiresAt, lifetimeMs }: Token): Kept["renew"] {
    if (lifetimeMs === undefined) return undefined;
    const { clock, random = Math.random } = this.#o;
    const afterMs = renewAfterMs(lifetimeMs, random);
    return { at: plusMs(expiresAt, afterMs - lifetimeMs), by: msFromNow(clock, afterMs) };
  }

  #sweep(): void {
    const { clock } = this.#o;
    if (this.#sweptAt !== undefined && msSince(clock, this.#sweptAt) < sweepMs) return;
    this.#sweptAt = clock.monotonic();
    for (const [key, { token }] of this.#kept) if (clock.wall() > token.expiresAt) this.#kept.delete(key);
  }
}

/**
 * The API server decides by copies of pods, which may not have the pod of this moment yet: the node authorizer finds no way
 * from the node to it, or NodeRestriction one that is not scheduled.
 */
function isUnknownPod(error: unknown): boolean {
  return httpStatusOf(error) === 403 && /different node|no relationship found/.test(messageOf(error));
}

/** Whoever gives up leaves the others their answer. */
function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(abortError(signal.reason));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
