import type { CertificatePair } from "./certificate-pair.ts";

/** What the certificate should say. */
export interface RequestTemplate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/**
 * When a certificate is to be replaced: after 70 to 90 % of its life, so that nodes that began together do not come back
 * together. Signers date certificates back: of the life of one that we saw arrive, only what was left then counts.
 */
export function rotationDeadline(
  pair: CertificatePair,
  arrivedAt: number | undefined,
  random: number,
): number {
  const from = pair.leaf.notBefore.getTime();
  const until = pair.leaf.notAfter.getTime();
  const start = arrivedAt !== undefined && arrivedAt > from && arrivedAt < until ? arrivedAt : from;
  return Math.round(start + (until - start) * (0.7 + 0.2 * random));
}

/** Why the certificate is not the one that should be; undefined if it is. More than was asked for is no reason. */
export function mismatch(pair: CertificatePair, wanted: RequestTemplate): string | undefined {
  const { subject, dnsNames, ipAddresses } = pair.leaf;
  const missing = (have: readonly string[], want: readonly string[]) =>
    want.filter((item) => !have.includes(item));
  if (subject.commonName !== wanted.commonName) return "another common name";
  const lists = [
    ["DNS names", missing(dnsNames, wanted.dnsNames)],
    ["IP addresses", missing(ipAddresses, wanted.ipAddresses)],
    ["organizations", missing(subject.organizations, wanted.organizations)],
  ] as const;
  const first = lists.find(([, items]) => items.length > 0);
  return first && `${first[0]} are missing: ${first[1].join(", ")}`;
}

export const sameTemplate = (a: RequestTemplate | undefined, b: RequestTemplate | undefined): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

export interface RotationState {
  readonly now: number;
  readonly template: RequestTemplate | undefined;
  readonly pair: CertificatePair | undefined;
  readonly deadline: number;
  /** The pair is only there to begin with. */
  readonly forced: boolean;
  /** The last try, if another has to wait. */
  readonly tried: { readonly at: number; readonly delayMs: number } | undefined;
}

export type RotationStep =
  | { readonly do: "rotate"; readonly why: string }
  | { readonly do: "wait"; readonly ms: number };

/** Without a template, one is looked for that often. */
const lookForTemplateMs = 1000;
/** The template and the clock may change at any time. */
const lookAgainMs = 10_000;

export function nextStep({ now, template, pair, deadline, forced, tried }: RotationState): RotationStep {
  if (template === undefined) return { do: "wait", ms: lookForTemplateMs };
  const why = reasonToRotate(template, pair, deadline, forced, now);
  if (why === undefined) return { do: "wait", ms: Math.min(deadline - now, lookAgainMs) };
  const rest = tried ? tried.at + tried.delayMs - now : 0;
  // More than the whole of the delay: the clock was set back.
  if (tried && rest > 0 && rest <= tried.delayMs) return { do: "wait", ms: rest };
  return { do: "rotate", why };
}

function reasonToRotate(
  template: RequestTemplate,
  pair: CertificatePair | undefined,
  deadline: number,
  forced: boolean,
  now: number,
): string | undefined {
  if (pair === undefined) return "there is no certificate";
  if (forced) return "the certificate is the one to begin with";
  return mismatch(pair, template) ?? (now >= deadline ? "the certificate nears its end" : undefined);
}

/**
 * 2, 4, 8, 16, 32, 32 … seconds after the first, second … try, and up to a tenth more. Whole milliseconds. A server that
 * refuses us is asked at least every 10 s: somebody is about to correct a token or a rule.
 */
export function retryDelayMs(tries: number, random: number, refused = false): number {
  return Math.round(Math.min(2000 * 2 ** (tries - 1), refused ? 9_000 : 32_000) * (1 + 0.1 * random));
}
