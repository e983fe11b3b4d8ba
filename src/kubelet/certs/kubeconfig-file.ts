import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import type { Clock } from "../../lib/base/clock.ts";
import { errnoOf, KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { wallTime } from "../../lib/base/time.ts";
import { type Certificate, parseCertificates } from "../../lib/base/x509/x509.ts";
import {
  type ClusterAccess,
  type KubeAccess,
  type PemSource,
  parseKubeconfig,
} from "../../lib/clients/kube/kubeconfig.ts";
import { writeDurably } from "../../lib/host/durable-file.ts";
import { readPair } from "./certificate-pair.ts";

/** Reads a kubeconfig. The files that it names need not exist yet. */
export async function readKubeconfig(file: string, what: string): Promise<KubeAccess> {
  try {
    return parseKubeconfig(await readFile(file, "utf8"), file);
  } catch (error) {
    throw new KubeletError("Kubeconfig", `unable to load ${what}: ${messageOf(error)}`, { cause: error });
  }
}

/** True if the kubeconfig exists and has a client certificate with key that has not expired. */
export async function isStillValid(file: string, o: { clock: Clock; logger: Logger }): Promise<boolean> {
  try {
    const access = parseKubeconfig(await readFile(file, "utf8"), file);
    const pair = access.user.clientCertificate;
    if (pair === undefined) throw new KubeletError("Kubeconfig", "it has no client certificate");
    const cert = await readPem(pair.cert);
    readPair(cert, await readPem(pair.key));
    const expired = (certificate: Certificate) => o.clock.wall() > wallTime(certificate.notAfter);
    const old = parseCertificates(cert).find(expired);
    if (old === undefined) return true;
    throw new KubeletError(
      "Kubeconfig",
      `its client certificate has expired at ${old.notAfter.toISOString()}`,
    );
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") {
      o.logger.info("Cannot use kubeconfig, requesting a client certificate", {
        kubeconfig: file,
        reason: messageOf(error),
      });
    }
    return false;
  }
}

async function readPem(source: PemSource): Promise<string> {
  return source.kind === "data" ? source.pem : readFile(source.path, "utf8");
}

/** A kubeconfig for the same cluster whose user is the certificate in `pemPath`. */
export async function writeKubeconfig(file: string, cluster: ClusterAccess, pemPath: string): Promise<void> {
  const config = {
    apiVersion: "v1",
    clusters: [{ cluster: clusterFields(cluster), name: "default-cluster" }],
    contexts: [
      {
        context: { cluster: "default-cluster", namespace: "default", user: "default-auth" },
        name: "default-context",
      },
    ],
    "current-context": "default-context",
    kind: "Config",
    users: [{ name: "default-auth", user: { "client-certificate": pemPath, "client-key": pemPath } }],
  };
  await writeDurably(file, stringify(config, { lineWidth: 0 }), 0o600);
}

function clusterFields(cluster: ClusterAccess): Record<string, unknown> {
  const authority = cluster.certificateAuthority;
  return {
    ...(authority?.kind === "file" && { "certificate-authority": authority.path }),
    ...(authority?.kind === "data" && {
      "certificate-authority-data": Buffer.from(authority.pem).toString("base64"),
    }),
    ...(cluster.disableCompression && { "disable-compression": true }),
    ...(cluster.insecureSkipTlsVerify && { "insecure-skip-tls-verify": true }),
    ...(cluster.proxyUrl && { "proxy-url": cluster.proxyUrl.href }),
    server: cluster.server.href.replace(/\/$/, ""),
    ...(cluster.tlsServerName && { "tls-server-name": cluster.tlsServerName }),
  };
}
