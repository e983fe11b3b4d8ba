import { type MonotonicTime, msBetween, plusMs, type WallTime, wallTime } from "../../lib/base/time.ts";
import type { CertificatePair } from "./certificate-pair.ts";

/** The desired content of the certificate. */
export interface RequestTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/**
 * When a certificate is rotated: after 70 to 90 % of its lifetime, with jitter so that nodes that started together do not rotate
 * together. Signers backdate certificates: for one that we received, only the remaining lifetime is used.
 */
export function rotationDeadline(
  pair: CertificatePair,
  arrivedAt: WallTime | undefined,
  random: number,
): WallTime {
  const from = wallTime(pair.leaf.notBefore);
  const until = wallTime(pair.leaf.notAfter);
  const start = arrivedAt !== undefined && arrivedAt > from && arrivedAt < until ? arrivedAt : from;
  return plusMs(start, Math.round(msBetween(start, until) * (0.7 + 0.2 * random)));
}

/** Why the certificate does not match the template; undefined if it does. Additional names are accepted. */
export function mismatch(pair: CertificatePair, template: RequestTemplate): string | undefined {
  const { subject, dnsNames, ipAddresses } = pair.leaf;
  const missing = (have: readonly string[], want: readonly string[]) =>
    want.filter((item) => !have.includes(item));
  if (subject.commonName !== template.commonName) return "the common name differs";
  const lists = [
    ["DNS names", missing(dnsNames, template.dnsNames)],
    ["IP addresses", missing(ipAddresses, template.ipAddresses)],
    ["organizations", missing(subject.organizations, template.organizations)],
  ] as const;
  const first = lists.find(([, items]) => items.length > 0);
  return first && `${first[0]} are missing: ${first[1].join(", ")}`;
}

export const sameTemplate = (a: RequestTemplate | undefined, b: RequestTemplate | undefined): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

export interface RotationState {
  /** Validity is checked by wall time, … */
  readonly wall: WallTime;
  /** … and waits use monotonic time. */
  readonly now: MonotonicTime;
  readonly template: RequestTemplate | undefined;
  readonly pair: CertificatePair | undefined;
  readonly deadline: WallTime;
  /** The pair is the initial one, to be replaced. */
  readonly forced: boolean;
  /** Not before then, after a failed attempt. */
  readonly retryAt: MonotonicTime | undefined;
}

export type RotationStep =
  | { readonly do: "rotate"; readonly why: string }
  | { readonly do: "wait"; readonly ms: number };

/** How often to check for a template while there is none. */
const noTemplateCheckMs = 1000;
/** The template and the clock may change at any time. */
const recheckMs = 10_000;

export function nextStep({
  wall,
  now,
  template,
  pair,
  deadline,
  forced,
  retryAt,
}: RotationState): RotationStep {
  if (template === undefined) return { do: "wait", ms: noTemplateCheckMs };
  const why = reasonToRotate(template, pair, deadline, forced, wall);
  if (why === undefined) return { do: "wait", ms: Math.min(msBetween(wall, deadline), recheckMs) };
  if (retryAt !== undefined && retryAt > now) return { do: "wait", ms: msBetween(now, retryAt) };
  return { do: "rotate", why };
}

function reasonToRotate(
  template: RequestTemplate,
  pair: CertificatePair | undefined,
  deadline: WallTime,
  forced: boolean,
  wall: WallTime,
): string | undefined {
  if (pair === undefined) return "there is no certificate";
  if (forced) return "the certificate is the initial one";
  return mismatch(pair, template) ?? (wall >= deadline ? "the certificate expires soon" : undefined);
}

/**
 * 2, 4, 8, 16, 32, 32 … seconds after the first, second … attempt, and up to a tenth more. Whole milliseconds. A server
 * that rejects us is retried at least every 10 s: a token or a role may be corrected.
 */
export function retryDelayMs(attempts: number, random: number, rejected = false): number {
  return Math.round(Math.min(2000 * 2 ** (attempts - 1), rejected ? 9_000 : 32_000) * (1 + 0.1 * random));
}
