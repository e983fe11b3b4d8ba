import { readFile } from "node:fs/promises";
import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import { clientRate } from "../../lib/clients/kube/client-rate.ts";
import type { KubeAccess } from "../../lib/clients/kube/kubeconfig.ts";
import { requestMetrics } from "../../lib/clients/kube/request-metrics.ts";
import {
  HttpKubeTransport,
  kubeletUserAgent,
  type TransportOptions,
} from "../../lib/clients/kube/transport.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import type { FeatureName } from "../../lib/config/feature-gate-table.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { archOf } from "../../lib/host/system-identity.ts";
import { CertificateReadiness, type CertificateSource } from "./certificate-readiness.ts";

/** The cluster that the node joins. */
export interface ClusterOptions {
  /** Limited to the configured rate (kubeAPIQPS, kubeAPIBurst). */
  readonly transport: KubeTransport;
  /** The same without a limit, for heartbeats and for events, which have their own rate limit. */
  readonly unlimited?: KubeTransport;
  /** The address of the API server, for display. */
  readonly server?: string;
  /** The version that the node reports, "v1.36.4". */
  readonly kubeletVersion: string;
  /** Keep the credentials valid: started before anything that sends requests. */
  readonly components?: readonly Component[];
  /** Present if the client certificate is rotated: why requests wait for it, undefined while they do not. */
  readonly certificateWait?: () => string | undefined;
  /** The client certificate in PEM, without its key; undefined if other credentials are used. */
  readonly clientCertificate?: () => Promise<string | undefined>;
}

/** Options of all connections to an API server. */
export interface ConnectionOptions {
  kubeletVersion: string;
  clock: Clock;
  logger: Logger;
  metrics?: Metrics;
  /** Called with each response, including those of attempts that are retried; status 0: no response. */
  onResponse?: TransportOptions["onResponse"];
  tracer?: TransportOptions["tracer"];
  outages?: TransportOptions["outages"];
  /** All features of the client are on unless set. */
  gates?: { enabled(gate: FeatureName): boolean };
}

export interface ClusterAccessOptions extends ConnectionOptions {
  /** The address of the API server and the credentials. */
  access: KubeAccess;
  config: Pick<KubeletConfiguration, "kubeAPIQPS" | "kubeAPIBurst">;
  /** Keep the credentials valid: started before anything that sends requests. */
  components?: readonly Component[];
  /** If set, requests wait until it has a certificate. */
  certificate?: CertificateSource | undefined;
}

/** Transports to the API server. Nothing is sent yet: the server may be unavailable. */
export function clusterAccess(o: ClusterAccessOptions): ClusterOptions & { close(): void } {
  const { access, config, kubeletVersion, certificate, clock, logger, components = [] } = o;
  const transport = connection(access, o, clientRate(config.kubeAPIQPS ?? 50, config.kubeAPIBurst));
  const unlimited = HttpKubeTransport.sharing(transport, { qps: 0, burst: 0 });
  const readiness = certificate && new CertificateReadiness({ source: certificate, clock, logger });
  const whenCertified = (plain: KubeTransport) => (readiness ? waitingTransport(plain, readiness) : plain);
  const [limited, free] = [whenCertified(transport), whenCertified(unlimited)];
  return {
    transport: limited,
    unlimited: free,
    server: access.cluster.server.href,
    kubeletVersion,
    components,
    ...(readiness && { certificateWait: () => readiness.waiting }),
    clientCertificate: () => firstCertificate(access),
    close() {
      free.close();
      limited.close();
    },
  };
}

/** The file of a rotated certificate contains the key as well. */
async function firstCertificate({ user }: KubeAccess): Promise<string | undefined> {
  const source = user.clientCertificate?.cert;
  if (!source) return undefined;
  const pem = source.kind === "data" ? source.pem : await readFile(source.path, "utf8");
  return /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/s.exec(pem)?.[0];
}

export function connection(
  access: KubeAccess,
  { kubeletVersion, clock, logger, metrics, onResponse, tracer, outages, gates }: ConnectionOptions,
  rate: Pick<TransportOptions, "qps" | "burst"> = { qps: 0, burst: 0 },
): HttpKubeTransport {
  const userAgent = kubeletUserAgent(kubeletVersion, archOf(process.arch), "");
  return new HttpKubeTransport({
    access,
    userAgent,
    ...rate,
    clock,
    logger,
    tracer,
    outages,
    metrics: metrics && requestMetrics(metrics, clock, { cacheGc: gates?.enabled("ClientsAllowTLSCacheGC") }),
    features: gates && {
      watchList: gates.enabled("WatchListClient"),
      caRotation: gates.enabled("ClientsAllowCARotation"),
    },
    ...(onResponse && { onResponse }),
  });
}

/** Sends requests only while there is a client certificate; until then they wait. */
export function waitingTransport(transport: KubeTransport, readiness: CertificateReadiness): KubeTransport {
  return {
    async request<T>(call: Parameters<KubeTransport["request"]>[0]) {
      await readiness.wait(call.signal);
      return transport.request<T>(call);
    },
    async stream(call) {
      await readiness.wait(call.signal);
      return transport.stream(call);
    },
    streamsLists: transport.streamsLists,
    /** Calls back after a reconnect, and when a certificate becomes available, so that requests that timed out are retried. */
    onReconnect: (listener) => {
      const unsubscribes = [readiness.onReady(listener), transport.onReconnect?.(listener) ?? (() => {})];
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe();
      };
    },
    close() {
      readiness.close();
      transport.close();
    },
  };
}
