import { createPrivateKey, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import {
  generateKey,
  parseCertificates,
  privateKeyPem,
  samePublicKey,
  signCertificate,
} from "../../../lib/base/x509/x509.ts";
import { readText, writeText } from "./files.ts";

const year = 365 * 24 * 3600_000;

/** The CA that signs all certificates of this cluster. */
export interface Authority {
  readonly certificate: string;
  readonly key: KeyObject;
  readonly notAfter: Date;
}

/** The cluster CA: read, or created once. A new CA invalidates all certificates of the old one. */
export function clusterAuthority(dir: string, now: number): Authority {
  const paths = { certificate: join(dir, "ca.crt"), key: join(dir, "ca.key") };
  const certificate = readText(paths.certificate);
  const key = readText(paths.key);
  // The certificate is written last: without it the key was never used.
  if (certificate === undefined) return create(paths, now);
  const found = key === undefined ? undefined : load(certificate, key, paths.certificate);
  if (!found)
    throw new KubeletError(
      "BadAuthority",
      `${paths.key} is missing: restore it, or remove ${paths.certificate} to create a new cluster CA`,
    );
  return found.notAfter.getTime() > now ? found : create(paths, now);
}

function load(certificate: string, keyText: string, path: string): Authority {
  try {
    const [parsed] = parseCertificates(certificate);
    const key = createPrivateKey(keyText);
    if (!parsed?.isCa) throw new KubeletError("BadAuthority", "it contains no CA certificate");
    if (!samePublicKey(parsed.publicKey, key))
      throw new KubeletError("BadAuthority", "certificate and key do not belong together");
    return { certificate, key, notAfter: parsed.notAfter };
  } catch (error) {
    throw new KubeletError("BadAuthority", `cluster CA ${path}: ${messageOf(error)}`, { cause: error });
  }
}

function create(paths: { certificate: string; key: string }, now: number): Authority {
  const { privateKey, publicKey } = generateKey();
  const notAfter = new Date(now + 10 * year);
  const certificate = signCertificate({
    subject: { commonName: "kubelet-ts", organizations: [] },
    issuer: "self",
    publicKey,
    key: privateKey,
    notBefore: new Date(now - 5 * 60_000),
    notAfter,
    isCa: true,
    usages: ["digital signature", "key encipherment", "cert sign"],
  });
  writeText(paths.key, privateKeyPem(privateKey), 0o600);
  writeText(paths.certificate, certificate, 0o644);
  return { certificate, key: privateKey, notAfter };
}
