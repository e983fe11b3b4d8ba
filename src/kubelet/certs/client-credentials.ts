import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { type KubeAccess, loadKubeconfig, type UserAccess } from "../../lib/clients/kube/kubeconfig.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import { bootstrapCertificate } from "./bootstrap.ts";
import { kubeCertificateApi } from "./certificate-api.ts";
import type { CertificateManager } from "./certificate-manager.ts";
import { CertificateStore } from "./certificate-store.ts";
import { isStillValid, readKubeconfig, writeKubeconfig } from "./kubeconfig-file.ts";
import { clientCertificateManager } from "./managers.ts";

export interface ClientCredentialsOptions {
  /** --kubeconfig */
  readonly kubeconfig: string;
  /** --bootstrap-kubeconfig */
  readonly bootstrapKubeconfig?: string | undefined;
  /** --cert-dir */
  readonly certDir: string;
  readonly nodeName: string;
  /** rotateCertificates */
  readonly rotate: boolean;
  /** Creates an API client with these credentials, for certificate requests only. */
  readonly connect: (access: KubeAccess) => KubeTransport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

export interface ClientCredentials {
  /** The credentials of the agent. The certificate file may not exist yet, and changes. */
  readonly access: KubeAccess;
  /** Must be started before any request to the API; present only if certificates are rotated. */
  readonly manager: CertificateManager | undefined;
  /** Closes the connections that were opened to request certificates. */
  close(): void;
}

/** The credentials of the agent: from its kubeconfig, or through a bootstrap kubeconfig. */
export async function clientCredentials(o: ClientCredentialsOptions): Promise<ClientCredentials> {
  return o.rotate ? rotatedCredentials(o) : fixedCredentials(o);
}

/** Waits for the certificate: without it the agent cannot use the API. */
async function fixedCredentials(o: ClientCredentialsOptions): Promise<ClientCredentials> {
  const { kubeconfig, bootstrapKubeconfig, connect, clock, logger } = o;
  if (bootstrapKubeconfig && !(await isStillValid(kubeconfig, { clock, logger }))) {
    logger.info("Using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file");
    const bootstrap = await readKubeconfig(bootstrapKubeconfig, "bootstrap kubeconfig");
    const store = clientStore(o);
    const transport = connect(bootstrap);
    try {
      await bootstrapCertificate({ ...o, store, transport });
    } finally {
      transport.close();
    }
    await writeKubeconfig(kubeconfig, bootstrap.cluster, store.currentPath);
  }
  return { access: await loadKubeconfig(kubeconfig), manager: undefined, close() {} };
}

/** The certificate is requested in the background, with the previous one or, if there is none, with other credentials. */
async function rotatedCredentials(o: ClientCredentialsOptions): Promise<ClientCredentials> {
  const { kubeconfig, bootstrapKubeconfig, connect, clock, logger } = o;
  const { currentPath } = clientStore(o);
  if (bootstrapKubeconfig && !(await isStillValid(kubeconfig, { clock, logger }))) {
    const { cluster } = await readKubeconfig(bootstrapKubeconfig, "bootstrap kubeconfig");
    await writeKubeconfig(kubeconfig, cluster, currentPath);
  }
  const own = await readKubeconfig(kubeconfig, "kubeconfig");
  const access = { ...own, user: certificateIn(currentPath) };
  const store = clientStore(o, own.user);
  await adopt(store, logger);
  let node: KubeTransport | undefined;
  let other: KubeTransport | undefined;
  const manager = clientCertificateManager({
    ...o,
    store,
    initial: inlinePair(own.user),
    api: async (current) => {
      if (current) node ??= connect(access);
      else {
        other?.close();
        other = connect(await withoutCertificate(own, o));
      }
      return kubeCertificateApi({ transport: (current ? node : other)!, clock, logger });
    },
  });
  const close = () => {
    node?.close();
    other?.close();
  };
  return { access, manager, close };
}

function clientStore(o: ClientCredentialsOptions, user?: UserAccess): CertificateStore {
  const { cert, key } = user?.clientCertificate ?? {};
  return new CertificateStore({
    prefix: "kubelet-client",
    dir: o.certDir,
    certFile: cert?.kind === "file" ? cert.path : undefined,
    keyFile: key?.kind === "file" ? key.path : undefined,
    clock: o.clock,
    logger: o.logger,
  });
}

/** Configured files become the first pair of the store: connections then read one path. */
async function adopt(store: CertificateStore, logger: Logger): Promise<void> {
  if (await store.hasOwn()) return;
  const pair = await store.current();
  if (pair === undefined) return;
  await store.update(pair.cert, pair.key);
  logger.info("Copied client certificate into the certificate store", { path: store.currentPath });
}

/** Credentials embedded in the kubeconfig; kubeadm writes such files, with more permissions than a node needs. */
function inlinePair(user: UserAccess): { cert: string; key: string } | undefined {
  const pair = user.clientCertificate;
  if (pair?.cert.kind !== "data" || pair.key.kind !== "data") return undefined;
  return { cert: pair.cert.pem, key: pair.key.pem };
}

/** The bootstrap kubeconfig is read again each time: the token may have been replaced or removed. */
async function withoutCertificate(own: KubeAccess, o: ClientCredentialsOptions): Promise<KubeAccess> {
  if (!o.bootstrapKubeconfig) return own;
  try {
    return await readKubeconfig(o.bootstrapKubeconfig, "bootstrap kubeconfig");
  } catch (error) {
    o.logger.warn("No valid client certificate and no bootstrap kubeconfig", {
      err: messageOf(error),
    });
    return own;
  }
}

function certificateIn(path: string): UserAccess {
  const source = (field: string) => ({ kind: "file" as const, path, field });
  return {
    clientCertificate: { cert: source("client certificate"), key: source("client key") },
    token: undefined,
    tokenFile: undefined,
    basic: undefined,
    exec: undefined,
  };
}
