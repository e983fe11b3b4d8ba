import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import type { Clock } from "../../lib/base/clock.ts";
import { DialTimeout } from "./dial-message.ts";
import { type HostPort, hostPort } from "./kubelet-address.ts";

/** The API's client certificate for kubelets, and the CA of the kubelets' serving certificates. */
export interface Credentials {
  readonly clientCert?: string;
  readonly clientKey?: string;
  /** Absent: any certificate is accepted. */
  readonly ca?: string;
}

export type Backend = HostPort & {
  /** The addresses that were checked: a name server could respond with others when the connection is opened. Default: the host's. */
  readonly addresses?: readonly string[];
} & ({ readonly scheme: "http" } | { readonly scheme: "https"; readonly credentials: Credentials });

export interface BackendRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
}

const dialTimeoutMs = 30_000;
const keepAliveMs = 30_000;

/**
 * Starts a request. Each has its own connection, so that renewed certificates are used immediately and an upgraded
 * connection is not shared.
 */
export function openRequest(backend: Backend, request: BackendRequest, clock: Clock): ClientRequest {
  const headers = { host: hostPort(backend), ...request.headers };
  return httpRequest({ ...request, headers, createConnection: () => dial(backend, clock), setHost: false });
}

/** The head of the response. A backend that switches protocols without a request for it fails the request. */
export function responseOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once("response", resolve);
    // Without a listener Node.js would report neither a response nor an error.
    outgoing.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("the response switches protocols"));
    });
    // Stays for the whole request: a connection may break after the response has started.
    outgoing.on("error", reject);
  });
}

function dial(backend: Backend, clock: Clock): Socket {
  const { host, port } = backend;
  // Half open: one side may finish sending and still wait for data.
  const { addresses } = backend;
  const common = { host, port, allowHalfOpen: true, ...(addresses && { lookup: lookupOf(addresses) }) };
  const secure = backend.scheme === "https";
  const socket = secure ? tlsConnect({ ...common, ...tlsOptions(backend) }) : connect(common);
  socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
  const cancel = clock.after(dialTimeoutMs, () => socket.destroy(new DialTimeout(backend)));
  socket.once(secure ? "secureConnect" : "connect", cancel).once("close", cancel);
  return socket;
}

/** The addresses, whatever the name is. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all }, callback) => {
    if (all) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  };
}

function tlsOptions({ host, credentials }: Extract<Backend, { scheme: "https" }>) {
  const { clientCert: cert, clientKey: key, ca } = credentials;
  return {
    ...(cert && key && { cert, key }),
    ...(ca !== undefined && { ca }),
    rejectUnauthorized: ca !== undefined,
    ...(isIP(host) === 0 && { servername: host }),
    ALPNProtocols: ["http/1.1"],
  };
}
