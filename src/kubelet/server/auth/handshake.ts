import type { TLSSocket } from "node:tls";

const clientCa = Symbol("client CA of the handshake");

/** The bundle that the handshake of a connection verified against, as PEM; undefined if there was none. */
export function noteClientCa(socket: TLSSocket, bundle: string | undefined): void {
  Object.assign(socket, { [clientCa]: bundle });
}

/** Also of the socket of an HTTP/2 request, which passes properties of the connection's socket on. */
export function clientCaOf(socket: Partial<TLSSocket>): string | undefined {
  return (socket as { readonly [clientCa]?: string })[clientCa];
}
