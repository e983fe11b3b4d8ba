import { mkdirSync } from "node:fs";
import { isIPv4 } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "../lib/base/clock.ts";
import { messageOf } from "../lib/base/errors.ts";
import { Lifecycle } from "../lib/base/lifecycle.ts";
import type { Logger } from "../lib/base/logger.ts";
import { epochMs } from "../lib/base/time.ts";
import { persistentPort } from "../lib/host/free-port.ts";
import { nodeAddresses } from "../lib/host/node-info.ts";
import { auth, limitsOf, type Pki, preparePki } from "./auth/auth.ts";
import { controllers, handledPropagation } from "./controllers/controllers.ts";
import { defaultServiceRange, definitions } from "./kinds/definitions.ts";
import { podDefinition } from "./kinds/pods/pod-definition.ts";
import { AddressRange } from "./kinds/services/address-range.ts";
import { metricsDefinitions } from "./metrics-api/metrics-definitions.ts";
import { checkFields } from "./openapi/check-fields.ts";
import { decoded } from "./openapi/decode.ts";
import { OpenApiDocuments } from "./openapi/documents.ts";
import { duplicateFields } from "./openapi/duplicate-fields.ts";
import { kubeletConnections } from "./proxy/kubelet-connections.ts";
import type { ServedRequest } from "./rest/rest-handler.ts";
import { ApiServer } from "./server.ts";
import { Store } from "./storage/store.ts";
import { tableOf } from "./tables/table-of.ts";

export interface EmbeddedApiOptions {
  /** Its database, keys and certificates. */
  readonly dir: string;
  /** The address to listen on; default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default: the previous port, or 6443, or any free port. */
  readonly port?: number | undefined;
  /** Addresses of services; default 10.96.0.0/16. */
  readonly serviceRange?: string | undefined;
  /**
   * Addresses of pods on this machine. For these and for the machine itself, it also listens on the first address of
   * the service CIDR, which the machine must have; on port 443, or any that is free.
   */
  readonly podRange?: string | undefined;
  /** The path of the kubeconfig for kubectl. */
  readonly kubeconfig: string;
  /** A node that needs no bootstrap: it gets its own kubeconfig. */
  readonly node?: { readonly name: string; readonly kubeconfig: string } | undefined;
  /** The lifetime of signed certificates, unless a shorter one is requested. */
  readonly certificateLifetimeMs?: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onRequest?: (seen: ServedRequest) => void;
}

export interface EmbeddedApi {
  readonly server: ApiServer;
  /** "https://127.0.0.1:6443" */
  readonly address: string;
  stop(): Promise<void>;
}

const defaultPort = 6443;
/** The default port of the service `kubernetes`, as upstream. */
const defaultServicePort = 443;
const dayMs = 24 * 3600_000;
/** As upstream, no shorter lifetime may be requested, unless all certificates are configured to be shorter. */
const minCertificateSeconds = 600;
const stopTimeoutMs = 10_000;
const version = "v1.36.4";

/** Builds the API of one machine from its parts and starts it. */
export async function startEmbeddedApi(o: EmbeddedApiOptions): Promise<EmbeddedApi> {
  const { dir, clock, logger, host = "127.0.0.1", serviceRange = defaultServiceRange } = o;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const port = o.port ?? (await persistentPort(join(dir, "port"), host, defaultPort));
  const address = `https://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;
  const addresses = await nodeAddresses(undefined);
  const serviceAddress = new AddressRange(serviceRange).first;
  const podEndpoint = o.podRange && {
    host: serviceAddress,
    // A process that listens on this port of all addresses, such as a web server, uses it here, too.
    port: await persistentPort(join(dir, "service-port"), serviceAddress, defaultServicePort),
    from: [o.podRange],
  };
  const currentPki = () =>
    preparePki({
      dir: join(dir, "pki"),
      clock,
      hostnames: [hostname()],
      addresses: [...addresses, ...(host === "0.0.0.0" ? [] : [host])],
      serviceAddress,
      kubeconfig: { path: o.kubeconfig, server: address },
      ...(o.node && { node: { name: o.node.name, path: o.node.kubeconfig, server: address } }),
    });
  let pki = currentPki();
  const store = Store.open({ path: join(dir, "objects.db"), clock, logger });
  const authParts = auth({
    pki,
    objects: () => server.objects,
    clock,
    logger,
    ...lifetimes(o),
    ownNames: {
      serviceAddress,
      endpoints: host === "0.0.0.0" ? [hostname(), ...addresses] : [host],
      // No node of another machine has the name of this one, because a node requests certificates only in its own name.
      localNodes: [hostname().toLowerCase(), ...(o.node ? [o.node.name] : [])],
    },
  });
  const credentials = () => {
    const { certificate, key } = pki.kubeletClient;
    return { clientCert: certificate, clientKey: key };
  };
  const { nodeProxy, podProxy, ...connect } = kubeletConnections({
    credentials,
    authorizer: authParts.authorizer,
    clock,
  });
  const pods = podDefinition({ connect: { ...connect, proxy: podProxy }, mountTokens: true, clock });
  const kinds = [
    ...definitions({ ...authParts, pods, nodeProxy, services: { clusterIpRange: serviceRange } }),
    ...metricsDefinitions({ credentials, authorizer: authParts.authorizer, clock, logger }),
  ];
  const server: ApiServer = new ApiServer({
    store,
    definitions: kinds,
    authenticator: authParts.authenticator,
    authorizer: authParts.authorizer,
    admission: authParts.admission,
    limitsOf,
    tls: tlsOf(pki),
    host,
    port,
    ...(podEndpoint && { podEndpoints: [podEndpoint] }),
    clock,
    logger,
    fields: { check: checkFields, duplicates: duplicateFields, decode: decoded },
    tables: tableOf,
    openapi: new OpenApiDocuments({
      definitions: kinds,
      info: { title: "Kubernetes", version },
      now: () => epochMs(clock.wall()),
    }),
    propagation: handledPropagation,
    ...(o.onRequest && { onRequest: o.onRequest }),
  });
  const lifecycle = new Lifecycle(clock, logger);
  let cancelRenewal = () => {};
  const renewDaily = () => {
    cancelRenewal = clock.after(dayMs, () => {
      try {
        pki = currentPki();
        server.setTls(tlsOf(pki));
      } catch (error) {
        logger.error("Failed to check API server certificates", { err: messageOf(error) });
      }
      renewDaily();
    });
  };
  const stop = async () => {
    cancelRenewal();
    await lifecycle.stop(stopTimeoutMs);
    store.close();
  };
  try {
    await lifecycle.start(server);
    const builtIns = {
      ...podAddress(podEndpoint || { host, port }, addresses),
      serviceRange,
      servicePort: podEndpoint ? podEndpoint.port : defaultServicePort,
    };
    const { objects } = server;
    const rootCa = pki.ca.certificate;
    const reconcilers = controllers({ objects, definitions: kinds, clock, logger, rootCa, builtIns });
    for (const component of [...reconcilers, ...authParts.components]) await lifecycle.start(component);
  } catch (error) {
    await stop();
    throw error;
  }
  renewDaily();
  return { server, address, stop };
}

/** The address at which pods reach it. Not a loopback address: each pod has its own loopback interface. */
function podAddress({ host, port }: { host: string; port: number }, addresses: readonly string[]) {
  const candidates = host === "0.0.0.0" ? addresses : [host];
  const apiAddress = candidates.find((address) => isIPv4(address) && !address.startsWith("127."));
  return { apiAddress, apiPort: port };
}

function tlsOf({ serving, ca }: Pki) {
  return { key: serving.key, cert: serving.certificate, clientCa: ca.certificate };
}

function lifetimes({ certificateLifetimeMs: lifetime }: EmbeddedApiOptions) {
  if (lifetime === undefined) return {};
  return {
    certificateLifetimeMs: lifetime,
    minimumCertificateSeconds: Math.min(minCertificateSeconds, Math.ceil(lifetime / 1000)),
  };
}
