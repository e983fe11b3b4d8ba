import { generateKeyPair, type KeyObject } from "node:crypto";
import { access, constants, readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "../../lib/base/clock.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { dateOf, epochMs, plusMs, type WallTime } from "../../lib/base/time.ts";
import { generateKey, privateKeyPem, signCertificate } from "../../lib/base/x509/x509.ts";
import { writeDurably } from "../../lib/host/durable-file.ts";
import { readKey } from "./certificate-pair.ts";

export interface ServingFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;

/** `kubelet.crt` and `kubelet.key` for a server without a configured certificate. They are created once. */
export async function selfSignedFiles(o: {
  certDir: string;
  /** The host name, or --hostname-override. */
  hostName: string;
  clock: Clock;
  logger: Logger;
}): Promise<ServingFiles> {
  const certFile = join(o.certDir, "kubelet.crt");
  const keyFile = join(o.certDir, "kubelet.key");
  const [hasCert, hasKey] = [await canRead(certFile), await canRead(keyFile)];
  if (hasCert && hasKey) return { certFile, keyFile };
  if (hasCert) {
    const message = `error reading ${keyFile}, certificate and key must be supplied as a pair`;
    throw new KubeletError("CertificateFiles", message);
  }
  // The key is written first: a key without a certificate is from an interrupted start.
  const key = hasKey ? readKey(await readFile(keyFile, "utf8")) : await rsaKey();
  if (!hasKey) await writeDurably(keyFile, privateKeyPem(key), 0o600);
  await writeDurably(certFile, selfSigned(o.hostName, key, o.clock.wall()), 0o644);
  o.logger.debug(4, "Using self-signed cert", { certFile, keyFile });
  return { certFile, keyFile };
}

async function canRead(file: string): Promise<boolean> {
  return access(file, constants.R_OK).then(
    () => true,
    () => false,
  );
}

/** RSA, because configured cipher suites may have none for other keys. */
async function rsaKey(): Promise<KeyObject> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  return privateKey;
}

/** The certificate, and the certificate of its own CA, whose key is discarded. */
function selfSigned(hostName: string, key: KeyObject, now: WallTime): string {
  const [notBefore, notAfter] = [dateOf(plusMs(now, -hourMs)), dateOf(plusMs(now, yearMs - hourMs))];
  const seconds = Math.floor(epochMs(now) / 1000);
  const authority = generateKey();
  const issuer = {
    key: authority.privateKey,
    certificate: signCertificate({
      subject: { commonName: `${hostName}-ca@${seconds}`, organizations: [] },
      issuer: "self",
      publicKey: authority.publicKey,
      key: authority.privateKey,
      notBefore,
      notAfter,
      isCa: true,
      usages: ["digital signature", "key encipherment", "cert sign"],
    }),
  };
  const leaf = signCertificate({
    subject: { commonName: `${hostName}@${seconds}`, organizations: [] },
    issuer,
    publicKey: key,
    ...(isIP(hostName) ? { ipAddresses: [hostName] } : { dnsNames: [hostName] }),
    notBefore,
    notAfter,
    usages: ["digital signature", "key encipherment", "server auth"],
  });
  return leaf + issuer.certificate;
}
