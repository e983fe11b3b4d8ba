import { join } from "node:path";
import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { FeatureName } from "../../lib/config/feature-gate-table.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import type { ClusterView } from "../cluster/cluster-view.ts";
import { kubeCertificateApi } from "./certificate-api.ts";
import { servingCertificateFiles } from "./certificate-files.ts";
import type { CertificateManager } from "./certificate-manager.ts";
import type { CertificatePair } from "./certificate-pair.ts";
import { servingCertificateManager } from "./managers.ts";
import { selfSignedFiles } from "./self-signed.ts";

/** The certificate that the kubelet API presents to its clients. */
export interface ServingCertificate extends Component {
  /** Undefined until there is one; with serverTLSBootstrap the cluster has to sign it first. */
  current(): CertificatePair | undefined;
  /** Called with each new certificate. Returns a function that unsubscribes. */
  onChange(listener: (pair: CertificatePair) => void): () => void;
  /** The names or addresses of the node may have changed. */
  wake?(): void;
}

export interface ServingCertificateOptions {
  readonly config: Pick<KubeletConfiguration, "tlsCertFile" | "tlsPrivateKeyFile" | "serverTLSBootstrap">;
  readonly gates: { enabled(gate: FeatureName): boolean };
  readonly certDir: string;
  readonly nodeName: string;
  /** Undefined without a cluster that could sign it. */
  readonly cluster:
    | { readonly transport: KubeTransport; readonly view: Pick<ClusterView, "node"> }
    | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Signed by the cluster on request (serverTLSBootstrap), from tlsCertFile, or self-signed. */
export function servingCertificate(o: ServingCertificateOptions): ServingCertificate {
  const { tlsCertFile, tlsPrivateKeyFile, serverTLSBootstrap } = o.config;
  const rotates = serverTLSBootstrap && o.gates.enabled("RotateKubeletServerCertificate");
  if (rotates && o.cluster) return requestedCertificate(o, o.cluster);
  return tlsCertFile !== "" || tlsPrivateKeyFile !== ""
    ? certificateOfFiles(o, tlsCertFile, tlsPrivateKeyFile)
    : selfSignedCertificate(o);
}

function requestedCertificate(
  { config, gates, certDir, nodeName, clock, logger, metrics }: ServingCertificateOptions,
  { transport, view }: NonNullable<ServingCertificateOptions["cluster"]>,
): CertificateManager {
  return servingCertificateManager({
    nodeName,
    certDir,
    certFile: config.tlsCertFile,
    keyFile: config.tlsPrivateKeyFile,
    api: kubeCertificateApi({ transport, clock, logger }),
    // The addresses in the API, not those to be reported next: the approver compares the request with them.
    addresses: () => view.node()?.status.addresses ?? [],
    allowDnsOnly: gates.enabled("AllowDNSOnlyNodeCSR"),
    random: Math.random,
    clock,
    logger,
    metrics,
  });
}

function certificateOfFiles(o: ServingCertificateOptions, certFile: string, keyFile: string) {
  const { clock, logger, gates } = o;
  const reload = gates.enabled("ReloadKubeletServerCertificateFile");
  return servingCertificateFiles({ certFile, keyFile, reload, clock, logger });
}

/** The paths that /configz reports: a self-signed certificate is in files, too. */
export function effectiveTlsFiles(
  { tlsCertFile, tlsPrivateKeyFile, serverTLSBootstrap }: KubeletConfiguration,
  certDir: string | undefined,
): Pick<KubeletConfiguration, "tlsCertFile" | "tlsPrivateKeyFile"> {
  const own = tlsCertFile === "" && tlsPrivateKeyFile === "" && !serverTLSBootstrap;
  return own && certDir !== undefined ? selfSignedPaths(certDir) : { tlsCertFile, tlsPrivateKeyFile };
}

function selfSignedPaths(certDir: string) {
  return { tlsCertFile: join(certDir, "kubelet.crt"), tlsPrivateKeyFile: join(certDir, "kubelet.key") };
}

function selfSignedCertificate(o: ServingCertificateOptions): ServingCertificate {
  const { certDir, nodeName, clock, logger } = o;
  const { tlsCertFile, tlsPrivateKeyFile } = selfSignedPaths(certDir);
  const files = certificateOfFiles(o, tlsCertFile, tlsPrivateKeyFile);
  return {
    name: files.name,
    done: files.done,
    current: () => files.current(),
    onChange: (listener) => files.onChange(listener),
    async start(signal) {
      await selfSignedFiles({ certDir, hostName: nodeName, clock, logger });
      await files.start(signal);
    },
  };
}
