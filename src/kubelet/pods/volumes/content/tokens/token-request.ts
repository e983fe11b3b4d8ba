import { KubeletError } from "../../../../../lib/base/errors.ts";
import { epochMs, type WallTime, wallTime } from "../../../../../lib/base/time.ts";
import type { PodId } from "../../../../../lib/model/pod.ts";

export interface TokenRequest {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Only a token of the account with this UID will do, and not one of another that took its name. */
  readonly serviceAccountUid?: string | undefined;
  /** None: the API server's own. */
  readonly audiences: readonly string[];
  readonly expirationSeconds?: number | undefined;
  /** The token is good for as long as this pod is there. */
  readonly pod: PodId;
}

export interface Token {
  readonly token: string;
  /** As the API wrote it: "2026-01-01T01:00:00Z". */
  readonly expirationTimestamp: string;
  readonly expiresAt: WallTime;
  /** How long its life is in all; undefined if the API did not say. */
  readonly lifetimeMs: number | undefined;
}

/** One text for one token. It holds nothing that is secret. */
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
  const [where, who] = [namespace, serviceAccount].map(encodeURIComponent);
  return `/api/v1/namespaces/${where}/serviceaccounts/${who}/token`;
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
    throw new KubeletError("BadToken", "the API server's answer holds no token");
  const seconds = spec?.expirationSeconds;
  const lifetimeMs = typeof seconds === "number" ? seconds * 1000 : undefined;
  return { token, expirationTimestamp: String(expirationTimestamp), expiresAt, lifetimeMs };
}

const oldestMs = 24 * 3600 * 1000;
const jitterMs = 10_000;

/** When to ask for the next one: after 80 % of its life or a day, and not all of a node's at the same moment. */
export function renewAfterMs(lifetimeMs: number, random: () => number): number {
  return Math.min(oldestMs, lifetimeMs * 0.8) - random() * jitterMs;
}
