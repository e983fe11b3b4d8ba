import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { type CertificateApi, clientSigner, servingSigner } from "./certificate-api.ts";
import { CertificateManager } from "./certificate-manager.ts";
import { clientCertificateMetrics, servingCertificateMetrics } from "./certificate-metrics.ts";
import type { CertificatePair } from "./certificate-pair.ts";
import { CertificateStore, type PairStore } from "./certificate-store.ts";
import {
  clientTemplate,
  clientUsages,
  type NodeAddress,
  servingTemplate,
  servingUsages,
} from "./templates.ts";

export interface ManagerParts {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The client certificate of the agent. */
export function clientCertificateManager(
  o: ManagerParts & {
    readonly store: PairStore;
    readonly api: (current: CertificatePair | undefined) => CertificateApi | Promise<CertificateApi>;
    readonly initial?: { readonly cert: string; readonly key: string } | undefined;
  },
): CertificateManager {
  const template = clientTemplate(o.nodeName);
  const manager: CertificateManager = new CertificateManager({
    ...o,
    ...clientCertificateMetrics(o.metrics, o.clock, () => manager),
    name: "client-certificate",
    template: () => template,
    signerName: clientSigner,
    usages: clientUsages,
  });
  return manager;
}

/** The serving certificate of the agent, signed by the cluster (serverTLSBootstrap). */
export function servingCertificateManager(
  o: ManagerParts & {
    readonly certDir: string;
    /** tlsCertFile and tlsPrivateKeyFile, which are served until there is a signed one. */
    readonly certFile?: string | undefined;
    readonly keyFile?: string | undefined;
    /** With the node's credentials: the signer only accepts requests of the node itself. */
    readonly api: CertificateApi;
    /** The addresses of the Node object. Call `wake()` when they change. */
    readonly addresses: () => readonly NodeAddress[];
    readonly allowDnsOnly: boolean;
  },
): CertificateManager {
  const { certDir, certFile, keyFile, clock, logger } = o;
  const manager: CertificateManager = new CertificateManager({
    ...o,
    ...servingCertificateMetrics(o.metrics, o.clock, () => manager),
    name: "serving-certificate",
    store: new CertificateStore({ prefix: "kubelet-server", dir: certDir, certFile, keyFile, clock, logger }),
    api: () => o.api,
    template: () => servingTemplate(o.nodeName, o.addresses(), o.allowDnsOnly),
    signerName: servingSigner,
    usages: servingUsages,
  });
  return manager;
}
