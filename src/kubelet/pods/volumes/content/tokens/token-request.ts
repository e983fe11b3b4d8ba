import { KubeletError } from "../../../../../lib/base/errors.ts";
import { epochMs, type WallTime, wallTime } from "../../../../../lib/base/time.ts";
import type { PodId } from "../../../../../lib/model/pod.ts";

export interface TokenRequest {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Requires the service account to have this UID, so that a recreated one of the same name is not used. */
  readonly serviceAccountUid?: string | undefined;
  /** Empty: the API server's own. */
  readonly audiences: readonly string[];
  readonly expirationSeconds?: number | undefined;
  /** The token is valid while this pod exists. */
  readonly pod: PodId;
}

export interface Token {
  readonly token: string;
  /** As in the API: "2026-01-01T01:00:00Z". */
  readonly expirationTimestamp: string;
  readonly expiresAt: WallTime;
  /** The lifetime from issue to expiry; undefined if the API did not return it. */
  readonly lifetimeMs: number | undefined;
}

/** A unique key for the token. It contains nothing secret. */
export function tokenKey(request: TokenRequest): string {
  const {
    serviceAccount,
    namespace,
    audiences,
    expirationSeconds = 0,
    pod,
    serviceAccountUid = "",
  } = request;
  const parts = [serviceAccount, namespace, audiences, expirationSeconds, `${pod.name}:${pod.uid}`];
  return [...parts, serviceAccountUid].map((part) => JSON.stringify(part)).join("/");
}

export function tokenPath({ namespace, serviceAccount }: TokenRequest): string {
  const [ns, account] = [namespace, serviceAccount].map(encodeURIComponent);
  return `/api/v1/namespaces/${ns}/serviceaccounts/${account}/token`;
}

export function tokenBody({ audiences, expirationSeconds, serviceAccountUid, pod }: TokenRequest): object {
  return {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: serviceAccountUid ? { uid: serviceAccountUid } : {},
    spec: {
      audiences: audiences.length > 0 ? audiences : null,
      ...(expirationSeconds !== undefined && { expirationSeconds }),
      boundObjectRef: { kind: "Pod", apiVersion: "v1", name: pod.name, uid: pod.uid },
    },
  };
}

export interface TokenResponse {
  readonly spec?: { readonly expirationSeconds?: unknown };
  readonly status?: { readonly token?: unknown; readonly expirationTimestamp?: unknown };
}

export function readToken({ spec, status }: TokenResponse): Token {
  const { token, expirationTimestamp } = status ?? {};
  const expiresAt = wallTime(typeof expirationTimestamp === "string" ? expirationTimestamp : Number.NaN);
  if (typeof token !== "string" || token === "" || Number.isNaN(epochMs(expiresAt)))
    throw new KubeletError("BadToken", "the API server's response contains no token");
  const seconds = spec?.expirationSeconds;
  const lifetimeMs = typeof seconds === "number" ? seconds * 1000 : undefined;
  return { token, expirationTimestamp: String(expirationTimestamp), expiresAt, lifetimeMs };
}

const maxAgeMs = 24 * 3600 * 1000;
const jitterMs = 10_000;

/** When to renew a token: after 80 % of its lifetime or a day, with jitter. */
export function renewAfterMs(lifetimeMs: number, random: () => number): number {
  return Math.min(maxAgeMs, lifetimeMs * 0.8) - random() * jitterMs;
}
