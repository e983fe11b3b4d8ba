import { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../../lib/base/clock.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { parseCertificates } from "../../../lib/base/x509/x509.ts";
import type { Caller } from "../../definition.ts";
import { credentialId } from "../names.ts";

const clientAuth = "1.3.6.1.5.5.7.3.2";
const anyUsage = "2.5.29.37.0";

export type CertificateResult =
  | { readonly kind: "authenticated"; readonly caller: Caller }
  | { readonly kind: "none" }
  | { readonly kind: "rejected"; readonly problem: string };

interface Verified {
  readonly result: CertificateResult;
  readonly from: number;
  readonly to: number;
}

/**
 * Authenticates callers by a client certificate that the CA has signed. The TLS layer only verified that the key is
 * present.
 */
export class ClientCertificates {
  readonly #ca: X509Certificate;
  readonly #clock: Clock;
  /** The certificate of a connection, verified once; its validity period is checked with each request. */
  readonly #seen = new WeakMap<object, Verified>();

  constructor(o: { ca: string; clock: Clock }) {
    this.#ca = new X509Certificate(o.ca);
    this.#clock = o.clock;
  }

  authenticate(request: IncomingMessage): CertificateResult {
    const socket = request.socket as Partial<TLSSocket>;
    if (typeof socket.getPeerX509Certificate !== "function") return { kind: "none" };
    // Over HTTP/2 each request has its own socket object; the session persists.
    const { stream } = request as { stream?: { session?: object } };
    const connection = stream?.session ?? socket;
    let verified = this.#seen.get(connection);
    if (!verified) {
      const certificate = socket.getPeerX509Certificate();
      if (!certificate) return { kind: "none" };
      verified = this.#verify(certificate);
      this.#seen.set(connection, verified);
    }
    const now = epochMs(this.#clock.wall());
    if (now < verified.from || now > verified.to)
      return { kind: "rejected", problem: "x509: certificate has expired or is not yet valid" };
    return verified.result;
  }

  #verify(certificate: X509Certificate): Verified {
    const from = certificate.validFromDate.getTime();
    const to = certificate.validToDate.getTime();
    const verified = (result: CertificateResult): Verified => ({ result, from, to });
    const rejected = (problem: string) => verified({ kind: "rejected", problem });
    if (!certificate.checkIssued(this.#ca) || !certificate.verify(this.#ca.publicKey))
      return rejected("x509: certificate signed by unknown authority");
    const usages = certificate.keyUsage as readonly string[] | undefined;
    if (usages && !usages.includes(clientAuth) && !usages.includes(anyUsage))
      return rejected("x509: certificate specifies an incompatible key usage");
    const subject = parseCertificates(certificate.toString())[0]?.subject;
    if (!subject?.commonName) return rejected("x509: certificate does not name a user");
    const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
    return verified({
      kind: "authenticated",
      caller: {
        name: subject.commonName,
        groups: subject.organizations,
        extra: { [credentialId]: [`X509SHA256=${fingerprint}`] },
      },
    });
  }
}
