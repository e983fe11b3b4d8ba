import { generateKey, privateKeyPem, signCertificate } from "../../src/lib/base/x509/x509.ts";

/** A self-signed certificate and its key, as PEM. */
export function keyPair(): { certificate: string; key: string } {
  const { privateKey, publicKey } = generateKey();
  const certificate = signCertificate({
    subject: { commonName: "test", organizations: [] },
    issuer: "self",
    publicKey,
    key: privateKey,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    usages: ["server auth"],
  });
  return { certificate, key: privateKeyPem(privateKey) };
}
