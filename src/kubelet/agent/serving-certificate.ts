import { join } from "node:path";
import type { Component } from "../../lib/base/component.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { kubeCertificateApi } from "../certs/certificate-api.ts";
import { servingCertificateFiles } from "../certs/certificate-files.ts";
import type { CertificateManager } from "../certs/certificate-manager.ts";
import type { CertificatePair } from "../certs/certificate-pair.ts";
import { servingCertificateManager } from "../certs/managers.ts";
import { selfSignedFiles } from "../certs/self-signed.ts";
import type { EventHandlers } from "../pipeline/sync-loop/event-table.ts";
import type { AgentCore } from "./agent-core.ts";

/** The certificate that the kubelet API presents to its clients. */
export interface ServingCertificate extends Component {
  /** Undefined until there is one; with serverTLSBootstrap the cluster has to sign it first. */
  current(): CertificatePair | undefined;
  /** Called with each new certificate. Returns a function that unsubscribes. */
  onChange(listener: (pair: CertificatePair) => void): () => void;
  /** The names or addresses of the node may have changed. */
  wake?(): void;
}

/** When the node's addresses change, a certificate that the cluster signs is requested again. */
export function servingHandlers(
  serving: ServingCertificate | undefined,
): Partial<Pick<EventHandlers, "servingCertificate">> {
  if (!serving?.wake) return {};
  const wake = () => serving.wake?.();
  return { servingCertificate: { "node-changed": ({ addresses }) => (addresses ? wake() : undefined) } };
}

/** Signed by the cluster on request (serverTLSBootstrap), that of tlsCertFile, or self-signed. */
export function servingCertificate(core: AgentCore, certDir: string): ServingCertificate {
  const { tlsCertFile, tlsPrivateKeyFile, serverTLSBootstrap } = core.config;
  const rotates = serverTLSBootstrap && core.options.gates.enabled("RotateKubeletServerCertificate");
  const requested = rotates ? requestedCertificate(core, certDir) : undefined;
  if (requested) return requested;
  return tlsCertFile !== "" || tlsPrivateKeyFile !== ""
    ? certificateOfFiles(core, tlsCertFile, tlsPrivateKeyFile)
    : selfSignedCertificate(core, certDir);
}

/** Undefined without a cluster that could sign it. */
function requestedCertificate(core: AgentCore, certDir: string): CertificateManager | undefined {
  const { options, config, view, node, clock, logger, metrics } = core;
  if (!options.cluster || !view) return undefined;
  const { transport } = options.cluster;
  return servingCertificateManager({
    nodeName: node.name,
    certDir,
    certFile: config.tlsCertFile,
    keyFile: config.tlsPrivateKeyFile,
    api: kubeCertificateApi({ transport, clock, logger }),
    // The addresses in the API, not those to be reported next: the approver compares the request with them.
    addresses: () => view.node()?.status.addresses ?? [],
    allowDnsOnly: options.gates.enabled("AllowDNSOnlyNodeCSR"),
    random: Math.random,
    clock,
    logger,
    metrics,
  });
}

function certificateOfFiles(core: AgentCore, certFile: string, keyFile: string) {
  const { clock, logger, options } = core;
  const reload = options.gates.enabled("ReloadKubeletServerCertificateFile");
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

function selfSignedCertificate(core: AgentCore, certDir: string): ServingCertificate {
  const { node, clock, logger } = core;
  const { tlsCertFile, tlsPrivateKeyFile } = selfSignedPaths(certDir);
  const files = certificateOfFiles(core, tlsCertFile, tlsPrivateKeyFile);
  return {
    name: files.name,
    done: files.done,
    current: () => files.current(),
    onChange: (listener) => files.onChange(listener),
    async start(signal) {
      await selfSignedFiles({ certDir, hostName: node.name, clock, logger });
      await files.start(signal);
    },
  };
}
