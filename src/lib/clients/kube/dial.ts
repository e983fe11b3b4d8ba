import { request } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import * as tls from "node:tls";
import { whenAborted } from "../../base/abort.ts";
import { errnoOf } from "../../base/errors.ts";
import type { KeyPair } from "./pem-files.ts";
import { hostOf } from "./proxy.ts";

/** CA and client certificate of a TLS connection. */
export interface TlsIdentity {
  /** PEM; undefined means the CAs of the system. */
  readonly authority: string | undefined;
  readonly insecure: boolean;
  readonly serverName: string | undefined;
  readonly clientCertificate: KeyPair | undefined;
}

export interface Dialed {
  readonly socket: Duplex;
  readonly protocol: "h2" | "http/1.1";
}

const keepAliveMs = 30_000;

/** Connects to the server, through the proxy if there is one. */
export async function dial(
  server: URL,
  proxy: URL | undefined,
  identity: TlsIdentity,
  protocols: Dialed["protocol"][],
  signal: AbortSignal,
): Promise<Dialed> {
  const port = portOf(server);
  const socket = proxy
    ? await tunnel(proxy, `${server.hostname}:${port}`, signal)
    : await open(hostOf(server), port, signal);
  if (server.protocol !== "https:") return { socket, protocol: "http/1.1" };
  const secure = await secured(socket, hostOf(server), identity, protocols, signal);
  return { socket: secure, protocol: secure.alpnProtocol === "h2" ? "h2" : "http/1.1" };
}

function portOf(url: URL): number {
  return url.port ? Number(url.port) : url.protocol === "https:" ? 443 : 80;
}

function open(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs });
  return ready(socket, "connect", signal);
}

/** Resolves on the event; otherwise the socket is destroyed. */
function ready<T extends Socket>(socket: T, event: string, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => done(() => reject(error));
    const onClose = () => done(() => reject(new Error("the connection was closed while it was set up")));
    const onReady = () => done(() => resolve(socket));
    const done = (then: () => void) => {
      aborted[Symbol.dispose]();
      // The error listener is kept: without one, a later error would end the process.
      socket.off("close", onClose).off(event, onReady);
      then();
    };
    socket.on("error", onError).on("close", onClose).on(event, onReady);
    const aborted = whenAborted(signal, () => socket.destroy(new Error("aborted")));
  });
}

/** A tunnel through an HTTP proxy (CONNECT). */
async function tunnel(proxy: URL, target: string, signal: AbortSignal): Promise<Duplex> {
  const plain = await open(hostOf(proxy), portOf(proxy), signal);
  const socket =
    proxy.protocol === "https:"
      ? await secured(plain, hostOf(proxy), systemTrust, ["http/1.1"], signal)
      : plain;
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const headers = {
    host: target,
    ...(credentials !== ":" && {
      "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}`,
    }),
  };
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      socket.destroy();
      reject(new Error(`proxy ${proxy.host}: ${why}`));
    };
    const call = request({
      method: "CONNECT",
      path: target,
      headers,
      createConnection: () => socket,
      signal,
    });
    call.on("connect", (response, tunneled, head) => {
      if (response.statusCode !== 200)
        return fail(`${response.statusCode} ${response.statusMessage} for ${target}`);
      if (head.length > 0) tunneled.unshift(head);
      resolve(tunneled);
    });
    call.on("response", (response) => fail(`${response.statusCode} ${response.statusMessage} for ${target}`));
    call.on("error", (error) => fail(error.message));
    call.end();
  });
}

const systemTrust: TlsIdentity = {
  authority: undefined,
  insecure: false,
  serverName: undefined,
  clientCertificate: undefined,
};

async function secured(
  socket: Duplex,
  host: string,
  identity: TlsIdentity,
  protocols: string[],
  signal: AbortSignal,
): Promise<tls.TLSSocket> {
  const name = identity.serverName ?? host;
  const secure = tls.connect({
    socket,
    ca: identity.authority ?? systemAuthorities(),
    ...(identity.clientCertificate && {
      cert: identity.clientCertificate.cert,
      key: identity.clientCertificate.key,
    }),
    rejectUnauthorized: !identity.insecure,
    minVersion: "TLSv1.2",
    ALPNProtocols: protocols,
    // An IP address is not sent as SNI, but the certificate must still contain it.
    ...(isIP(name) ? {} : { servername: name }),
    checkServerIdentity: (_host, certificate) => tls.checkServerIdentity(name, certificate),
  });
  try {
    return await ready(secure, "secureConnect", signal);
  } catch (error) {
    socket.destroy();
    throw explained(error);
  }
}

let systemCertificates: string[] | undefined;

function systemAuthorities(): string[] | undefined {
  systemCertificates ??= tls.getCACertificates("system");
  return systemCertificates.length > 0 ? systemCertificates : undefined;
}

const untrusted = "the server's certificate is not signed by the certificate authority that we trust";
const hints: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  CERT_NOT_YET_VALID: "the server's certificate is not valid yet; check the clock",
};

function explained(error: unknown): unknown {
  const hint = hints[errnoOf(error) ?? ""];
  return hint ? new Error(`${hint} (${errnoOf(error)})`, { cause: error }) : error;
}
