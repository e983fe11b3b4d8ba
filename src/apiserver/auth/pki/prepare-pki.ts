import { createPrivateKey, type KeyObject } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { generateKey, privateKeyPem } from "../../../lib/base/x509/x509.ts";
import { masters, nodes, nodeUserPrefix } from "../names.ts";
import { type Authority, clusterAuthority } from "./authority.ts";
import { ensureText, readText, writeText } from "./files.ts";
import { ensureKeyPair, type Pair } from "./key-pair.ts";
import { kubeconfig } from "./kubeconfig.ts";

const year = 365 * 24 * 3600_000;

export interface PkiOptions {
  /** The directory of keys and certificates; created with mode 0700 if missing. */
  readonly dir: string;
  readonly clock: Clock;
  /** Names and addresses of this machine, in addition to the default SANs. */
  readonly hostnames: readonly string[];
  readonly addresses: readonly string[];
  /** The address of the service `kubernetes`. Default 10.96.0.1. */
  readonly serviceAddress?: string;
  readonly clusterDomain?: string;
  /** The kubeconfig of the administrator, if one is to be written, and its server URL. */
  readonly kubeconfig?: { readonly path: string; readonly server: string };
  /** A node that needs no bootstrap, and its kubeconfig. */
  readonly node?: { readonly name: string; readonly path: string; readonly server: string };
  readonly lifetimeMs?: number;
}

/** CA, keys and certificates of the API. */
export interface Pki {
  readonly ca: Authority;
  readonly serving: Pair;
  readonly admin: Pair;
  /** The client certificate for kubelets. */
  readonly kubeletClient: Pair;
  readonly serviceAccountKey: KeyObject;
}

/**
 * Reads existing files and creates those that are missing, no longer match or are too old. Cheap to call again: a
 * long-running server calls it every day and reloads the serving pair.
 */
export function preparePki(o: PkiOptions): Pki {
  const now = epochMs(o.clock.wall());
  const lifetimeMs = o.lifetimeMs ?? year;
  const ca = clusterAuthority(o.dir, now);
  const client = (file: string, commonName: string, group = masters): Pair =>
    ensureKeyPair(
      join(o.dir, file),
      { subject: { commonName, organizations: [group] }, usage: "client auth", lifetimeMs },
      ca,
      now,
    );
  const pki: Pki = {
    ca,
    serving: ensureKeyPair(join(o.dir, "apiserver"), { ...servingNames(o), lifetimeMs }, ca, now),
    admin: client("admin", "kubernetes-admin"),
    kubeletClient: client("apiserver-kubelet-client", "kube-apiserver-kubelet-client"),
    serviceAccountKey: serviceAccountKey(join(o.dir, "sa.key")),
  };
  const write = (path: string, server: string, user: string, credential: Pair) =>
    ensureText(path, kubeconfig({ server, ca: ca.certificate, user, credential }), 0o600);
  if (o.kubeconfig) write(o.kubeconfig.path, o.kubeconfig.server, "kubernetes-admin", pki.admin);
  if (o.node) {
    const user = `${nodeUserPrefix}${o.node.name}`;
    write(o.node.path, o.node.server, user, client("kubelet", user, nodes));
  }
  return pki;
}

function servingNames(o: PkiOptions) {
  const domain = o.clusterDomain ?? "cluster.local";
  const dnsNames = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    `kubernetes.default.svc.${domain}`,
    "localhost",
    ...o.hostnames,
  ];
  const ipAddresses = ["127.0.0.1", "::1", o.serviceAddress ?? "10.96.0.1", ...o.addresses];
  return {
    subject: { commonName: "kube-apiserver", organizations: [] },
    dnsNames: [...new Set(dnsNames)],
    ipAddresses: [...new Set(ipAddresses)],
    usage: "server auth" as const,
  };
}

/** Never replaced: with another key all issued tokens would become invalid. */
function serviceAccountKey(path: string): KeyObject {
  const text = readText(path);
  if (text === undefined) {
    const { privateKey } = generateKey();
    writeText(path, privateKeyPem(privateKey), 0o600);
    return privateKey;
  }
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new KubeletError("BadKey", `${path} contains no private key: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
