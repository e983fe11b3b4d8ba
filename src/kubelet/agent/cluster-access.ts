import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { KubeAccess } from "../../lib/clients/kube/kubeconfig.ts";
import { requestMetrics } from "../../lib/clients/kube/request-metrics.ts";
import {
  HttpKubeTransport,
  kubeletUserAgent,
  type TransportOptions,
} from "../../lib/clients/kube/transport.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { archOf } from "../../lib/host/system-identity.ts";
import { CertificateGate, type CertificateHolder } from "./certificate-gate.ts";
import { certifiedTransport } from "./certified-transport.ts";
import type { ClusterOptions } from "./cluster-view.ts";

/** How the agent speaks to any API server. */
export interface ConnectionOptions {
  kubeletVersion: string;
  clock: Clock;
  logger: Logger;
  /** Requests are counted there. */
  metrics?: Metrics;
  /** Told of each answer, also of those that are tried again; status 0: nobody answered. */
  onAnswer?: TransportOptions["onAnswer"];
  tracer?: TransportOptions["tracer"];
  outages?: TransportOptions["outages"];
}

export interface ClusterAccessOptions extends ConnectionOptions {
  /** Where the API server is and who we are to it. */
  access: KubeAccess;
  config: Pick<KubeletConfiguration, "kubeAPIQPS" | "kubeAPIBurst">;
  /** What keeps the credentials good: started before anybody speaks to the API. */
  components?: readonly Component[];
  /** If given, requests wait until it has a certificate. */
  certificate?: CertificateHolder | undefined;
}

/** A way to the API server. Nothing is sent yet: the server may be away. */
export function clusterAccess(o: ClusterAccessOptions): ClusterOptions & { close(): void } {
  const { access, config, kubeletVersion, certificate, clock, logger, components = [] } = o;
  const transport = connection(access, o, { qps: config.kubeAPIQPS ?? 50, burst: config.kubeAPIBurst });
  const unlimited = HttpKubeTransport.sharing(transport, { qps: 0, burst: 0 });
  const gate = certificate && new CertificateGate({ holder: certificate, clock, logger });
  const certified = (plain: KubeTransport) => (gate ? certifiedTransport(plain, gate) : plain);
  const [limited, free] = [certified(transport), certified(unlimited)];
  return {
    transport: limited,
    unlimited: free,
    kubeletVersion,
    components,
    ...(gate && { certificate: () => gate.waiting }),
    close() {
      free.close();
      limited.close();
    },
  };
}

export function connection(
  access: KubeAccess,
  { kubeletVersion, clock, logger, metrics, onAnswer, tracer, outages }: ConnectionOptions,
  rate: Pick<TransportOptions, "qps" | "burst"> = { qps: 0, burst: 0 },
): HttpKubeTransport {
  const userAgent = kubeletUserAgent(kubeletVersion, archOf(process.arch), "");
  return new HttpKubeTransport({
    ...{ access, userAgent, ...rate, clock, logger, tracer, outages },
    metrics: metrics && requestMetrics(metrics),
    ...(onAnswer && { onAnswer }),
  });
}
