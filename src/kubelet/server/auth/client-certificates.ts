import { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { earliest, latest, msBetween, type WallTime, wallTime } from "../../../lib/base/time.ts";
import { type DistinguishedName, parseCertificates, pem, pemBlocks } from "../../../lib/base/x509/x509.ts";
import { allowsClientAuth, findChain, incompatibleUsage, maxChain } from "./certificate-chain.ts";
import { clientCaOf, peerOf } from "./handshake.ts";
import type { Identity } from "./identity.ts";

export type AuthenticationResult =
  | { readonly kind: "authenticated"; readonly identity: Identity }
  /** No certificate, or no token, was presented. */
  | { readonly kind: "none" }
  | { readonly kind: "rejected"; readonly problem: string };

interface Verification {
  readonly ca: string;
  readonly result: AuthenticationResult;
  /** When the certificate of the client itself expires. */
  readonly expires: WallTime;
  readonly from: WallTime;
  readonly to: WallTime;
}

/**
 * Authenticates by client certificates of clientCAFile. TLS has verified that the client has the key; whether the CA is
 * trusted and the certificate is valid is checked here, with each request, because both can change while a connection is open.
 */
export class ClientCertificates {
  readonly #authorities: () => string | undefined;
  readonly #readsUid: boolean;
  readonly #clock: Clock;
  readonly #remaining: { observe(seconds: number): void } | undefined;
  readonly #verifications = new WeakMap<object, Verification>();
  #parsed: { readonly pem: string; readonly roots: readonly X509Certificate[] } = { pem: "", roots: [] };

  /** `authorities`: the current PEM; undefined if certificates are not accepted. `readsUid`: AllowParsingUserUIDFromCertAuth. */
  constructor(o: {
    authorities: () => string | undefined;
    readsUid: boolean;
    clock: Clock;
    metrics?: Metrics;
  }) {
    this.#authorities = o.authorities;
    this.#readsUid = o.readsUid;
    this.#clock = o.clock;
    this.#remaining = o.metrics && remainingLifetimes(o.metrics);
  }

  authenticate(request: IncomingMessage): AuthenticationResult {
    const ca = this.#authorities();
    const socket = request.socket as Partial<TLSSocket>;
    if (ca === undefined || typeof socket.getPeerX509Certificate !== "function") return { kind: "none" };
    // With HTTP/2 each request has its own socket object; the session is shared.
    const { stream } = request as { stream?: { session?: object } };
    const connection = stream?.session ?? socket;
    let verification = this.#verifications.get(connection);
    if (!verification || verification.ca !== ca) {
      verification = this.#verify(socket as TLSSocket, ca);
      if (!verification) return { kind: "none" };
      this.#verifications.set(connection, verification);
    }
    const now = this.#clock.wall();
    this.#remaining?.observe(msBetween(now, verification.expires) / 1000);
    if (now < verification.from || now > verification.to)
      return { kind: "rejected", problem: "x509: certificate has expired or is not yet valid" };
    return verification.result;
  }

  /** False if the client presented a certificate that the current bundle does not cover. */
  trusts(socket: TLSSocket): boolean {
    const ca = this.#authorities();
    return ca === undefined || this.#verify(socket, ca)?.result.kind !== "rejected";
  }

  /** Undefined if the client presented no certificate. */
  #verify(socket: TLSSocket, ca: string): Verification | undefined {
    const certificate = peerOf(socket);
    if (!certificate) return undefined;
    const roots = this.#roots(ca);
    // Node.js returns the intermediates of the client only if OpenSSL did not verify the certificate. If it did, its result holds
    // as long as each CA that it could have been based on is still in the bundle.
    const handshakeCa = clientCaOf(socket);
    const verified =
      socket.authorized === true &&
      handshakeCa !== undefined &&
      (handshakeCa === ca || covers(roots, certificatesOf(handshakeCa)));
    return verify(certificate, intermediatesOf(certificate), roots, {
      ca,
      verified,
      readsUid: this.#readsUid,
    });
  }

  #roots(ca: string): readonly X509Certificate[] {
    if (this.#parsed.pem !== ca) this.#parsed = { pem: ca, roots: certificatesOf(ca) };
    return this.#parsed.roots;
  }
}

function certificatesOf(bundle: string): X509Certificate[] {
  const blocks = pemBlocks(bundle).filter(({ label }) => label === "CERTIFICATE");
  return blocks.map((block) => new X509Certificate(block.der));
}

function covers(bundle: readonly X509Certificate[], previous: readonly X509Certificate[]): boolean {
  return previous.every(({ raw }) => bundle.some((certificate) => certificate.raw.equals(raw)));
}

function verify(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  { ca, verified, readsUid }: { ca: string; verified: boolean; readsUid: boolean },
): Verification {
  const found = findChain(certificate, intermediates, roots);
  const all = found.kind === "valid" ? found.chain : [certificate];
  const from = latest(...all.map((c) => wallTime(c.validFromDate)));
  const to = earliest(...all.map((c) => wallTime(c.validToDate)));
  const verification = (result: AuthenticationResult): Verification => ({
    ca,
    result,
    from,
    to,
    expires: wallTime(certificate.validToDate),
  });
  const rejected = (problem: string) => verification({ kind: "rejected", problem });
  if (found.kind === "invalid" || (found.kind === "unknown" && !verified)) return rejected(found.problem);
  if (!allowsClientAuth(certificate)) return rejected(incompatibleUsage);
  const subject = subjectOf(certificate);
  if (!subject?.commonName) return rejected("x509: certificate does not name a user");
  const uids = readsUid ? (subject.uids ?? []) : [];
  if (uids.length > 1) return rejected(`expected 1 UID, but found multiple: [${uids.join(" ")}]`);
  if (uids[0] === "") return rejected("UID cannot be an empty string");
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  return verification({
    kind: "authenticated",
    identity: {
      name: subject.commonName,
      groups: subject.organizations,
      ...(uids[0] !== undefined && { uid: uids[0] }),
      extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${fingerprint}`] },
    },
  });
}

/** Undefined: OpenSSL accepts the encoding of the certificate, and we do not. */
function subjectOf({ raw }: X509Certificate): DistinguishedName | undefined {
  try {
    return parseCertificates(pem("CERTIFICATE", raw))[0]?.subject;
  } catch {
    return undefined;
  }
}

function intermediatesOf(certificate: X509Certificate): X509Certificate[] {
  const found: X509Certificate[] = [];
  let at = certificate.issuerCertificate;
  while (at && found.length < maxChain) {
    found.push(at);
    at = at.issuerCertificate;
  }
  return found;
}

const hour = 3600;
const day = 24 * hour;
const bounds = [
  ...[0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour],
  ...[day, 2 * day, 4 * day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day],
];

/** Observed with each request with a certificate, before it is verified; negative if it has expired. */
export function remainingLifetimes(metrics: Metrics): { observe(seconds: number): void } {
  return metrics.histogram({
    name: "apiserver_client_certificate_expiration_seconds",
    help: "Remaining lifetime of the client certificates of requests",
    buckets: bounds,
  });
}
