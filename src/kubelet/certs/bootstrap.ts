import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, msFromNow, sleep } from "../../lib/base/clock.ts";
import { httpStatusOf, KubeletError, messageOf } from "../../lib/base/errors.ts";
import { failureLog } from "../../lib/base/failure-log.ts";
import type { Logger } from "../../lib/base/logger.ts";
import {
  type DistinguishedName,
  generateKey,
  makeRequest,
  privateKeyPem,
  type Usage,
} from "../../lib/base/x509/x509.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import { writeDurably } from "../../lib/host/durable-file.ts";
import { clientSigner, kubeCertificateApi } from "./certificate-api.ts";
import { readKey } from "./certificate-pair.ts";
import type { PairStore } from "./certificate-store.ts";
import { obtainCertificate } from "./obtain-certificate.ts";
import { clientTemplate, clientUsages } from "./templates.ts";

export interface BootstrapOptions {
  readonly nodeName: string;
  readonly certDir: string;
  readonly store: PairStore;
  /** The API client with the credentials of the bootstrap kubeconfig. */
  readonly transport: KubeTransport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const approvalMs = 3_600_000;
const serverMs = 60_000;

/**
 * Requests the first client certificate of a node and stores it. Until then the key is kept in a separate file, so that the next start
 * requests the same certificate again.
 */
export async function bootstrapCertificate(o: BootstrapOptions): Promise<void> {
  const keyFile = join(o.certDir, "kubelet-client.key.tmp");
  const key = (await o.store.current())?.privateKey ?? (await loadOrGenerateKey(keyFile, o.logger));
  await waitForServer(o);
  try {
    await requestWith(key, o);
  } catch (error) {
    if (!(error instanceof KubeletError) || error.code !== "CertificateIncompatible") throw error;
    // The request of this key cannot be reused: its certificate has expired, or it was created by another client.
    o.logger.info("Cannot reuse certificate signing request, generating a new key", {
      reason: error.message,
    });
    await requestWith(await newKey(keyFile), o);
  }
  await rm(keyFile, { force: true }).catch((error) => {
    o.logger.debug(2, "Failed cleaning up private key file", { path: keyFile, err: messageOf(error) });
  });
}

async function requestWith(key: KeyObject, o: BootstrapOptions): Promise<void> {
  const { commonName, organizations } = clientTemplate(o.nodeName);
  const subject = { commonName, organizations };
  const usages: readonly Usage[] =
    key.asymmetricKeyType === "rsa" ? [...clientUsages, "key encipherment"] : clientUsages;
  const name = requestName(createPublicKey(key), subject, usages);
  const request = { name, request: makeRequest({ subject, key }), signerName: clientSigner, usages };
  const cert = await obtainCertificate(kubeCertificateApi(o), request, key, { ...o, timeoutMs: approvalMs });
  await o.store.update(cert, privateKeyPem(key));
}

async function loadOrGenerateKey(file: string, logger: Logger): Promise<KeyObject> {
  try {
    return readKey(await readFile(file, "utf8"));
  } catch {
    logger.debug(2, "No private key found, generating a new one", { path: file });
    return newKey(file);
  }
}

async function newKey(file: string): Promise<KeyObject> {
  const { privateKey } = generateKey();
  await writeDurably(file, privateKeyPem(privateKey), 0o600);
  return privateKey;
}

/** A node may start before its API server does. After a minute the request is sent anyway, and reports the error. */
async function waitForServer({ transport, clock, random, logger, signal }: BootstrapOptions): Promise<void> {
  const until = msFromNow(clock, serverMs);
  while (clock.monotonic() < until) {
    try {
      await transport.request({ method: "GET", path: "/version", signal, timeoutMs: 1000 });
      return;
    } catch (error) {
      signal.throwIfAborted();
      const status = httpStatusOf(error);
      if (status !== undefined && status < 500) return; // The server responds; its status does not matter.
      failureLog(logger, "info", error)("Failed to connect to apiserver", { err: messageOf(error) });
    }
    await sleep(clock, 2000 * (1 + 0.2 * random()), signal);
  }
}

/**
 * The name of a request that remains the same as long as key, subject and usages do: an agent that is restarted finds
 * its request. The name equals the reference kubelet's.
 */
export function requestName(
  publicKey: KeyObject,
  subject: DistinguishedName,
  usages: readonly Usage[],
): string {
  const hash = createHash("sha512-256");
  const parts = [
    publicKey.export({ format: "der", type: "spki" }),
    ...[subject.commonName, ...subject.organizations, ...usages].map((text) => Buffer.from(text)),
  ];
  for (const part of parts) hash.update(`${part.toString("base64url")}|`);
  return `node-csr-${hash.digest("base64url")}`;
}
