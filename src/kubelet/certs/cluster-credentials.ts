import type { Metrics } from "../../lib/base/metrics.ts";
import { OutageLog } from "../../lib/clients/kube/outage-log.ts";
import type { KubeletFlags } from "../../lib/config/flags/kubelet-flags.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { nodeName } from "../../lib/host/node-info.ts";
import { CertificateExpiryMonitor } from "./certificate-expiry-monitor.ts";
import { clientCredentials } from "./client-credentials.ts";
import type { ClusterOptions } from "./cluster-access.ts";
import { type ConnectionOptions, clusterAccess, connection } from "./cluster-access.ts";

export interface ClusterCredentialsOptions extends ConnectionOptions {
  flags: Pick<KubeletFlags, "kubeconfig" | "bootstrapKubeconfig" | "certDir" | "hostnameOverride">;
  config: Pick<KubeletConfiguration, "rotateCertificates" | "kubeAPIQPS" | "kubeAPIBurst">;
  metrics: Metrics;
  /** There has been no valid certificate for long, and the API server issues none. A restart may find other credentials. */
  onCertificateUnavailable: (reason: string) => void;
  /** Ends the wait for a first certificate. */
  signal: AbortSignal;
}

/**
 * Access to the API server of the kubeconfig with the node's own client certificate, which is requested with the bootstrap
 * kubeconfig and rotated in time. Without rotation this waits for a first certificate; with rotation it does not wait.
 */
export async function clusterAccessAsNode(
  options: ClusterCredentialsOptions,
): Promise<ClusterOptions & { close(): void }> {
  const { flags, config, clock, logger, onCertificateUnavailable } = options;
  const o = { ...options, outages: new OutageLog(logger, clock) };
  const { access, manager, close } = await clientCredentials({
    ...flags,
    nodeName: nodeName(flags.hostnameOverride),
    rotate: config.rotateCertificates,
    connect: (other) => connection(other, o),
    random: Math.random,
    clock,
    logger,
    metrics: o.metrics,
    signal: o.signal,
  });
  const monitor =
    manager && new CertificateExpiryMonitor({ manager, clock, logger, onCertificateUnavailable });
  const components = manager && monitor ? [manager, monitor] : [];
  const cluster = clusterAccess({ ...o, access, components, certificate: manager });
  return {
    ...cluster,
    close() {
      cluster.close();
      close();
    },
  };
}
