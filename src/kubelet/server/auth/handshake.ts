import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";

const clientCa = Symbol("client CA of the handshake");
const peer = Symbol("certificate of the client");

/** The bundle that the handshake of a connection verified against, as PEM; undefined if there was none. */
export function setClientCa(socket: TLSSocket, bundle: string | undefined): void {
  Object.assign(socket, { [clientCa]: bundle });
}

/** The bundle that the handshake verified against. The socket may be the one of an HTTP/2 request, which proxies the connection's socket. */
export function clientCaOf(socket: Partial<TLSSocket>): string | undefined {
  return (socket as { readonly [clientCa]?: string })[clientCa];
}

/**
 * The certificate that the client presented; `issuerCertificate` leads to the others. Node.js returns the others once, so all callers
 * use one object. (`getPeerCertificate(true)` is not an alternative: creating legacy objects for a key on a curve without a NIST name crashes
 * Node.js 24, so that any client could crash the process.)
 */
export function peerOf(socket: TLSSocket): X509Certificate | undefined {
  const tagged = socket as { [peer]?: X509Certificate };
  tagged[peer] ??= socket.getPeerX509Certificate();
  return tagged[peer];
}
