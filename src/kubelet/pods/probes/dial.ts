import { connect, isIPv6, type Socket } from "node:net";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import { NameLookup } from "../../../lib/host/name-lookup.ts";

export interface Address {
  host: string;
  port: number;
}

/** "10.0.0.1:80", "[fd00::1]:80" */
export function hostPort({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Opens a connection for one probe. It stays half open when the peer closes: `closeConnection` decides how it ends. */
export function dial({ host, port }: Address): Socket {
  const names = new NameLookup();
  const socket = connect({
    host,
    port,
    lookup: names.lookup,
    allowHalfOpen: true,
    noDelay: true,
    ...(isIPv6(host) && { family: 6 }),
  });
  socket.once("close", () => names.cancel());
  // The caller listens too; this listener prevents a late error from crashing the process.
  socket.on("error", () => {});
  return socket;
}

/**
 * Closes the connection, with a reset unless the peer has closed it already. The side that closes first would keep a port and a conntrack
 * entry for a minute, which is too long for the number of probes.
 */
export function closeConnection(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.connecting || socket.readableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

const errnoMessages: Record<string, string> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  EHOSTUNREACH: "no route to host",
  EHOSTDOWN: "host is down",
  ENETUNREACH: "network is unreachable",
  ETIMEDOUT: "connection timed out",
  EADDRNOTAVAIL: "cannot assign requested address",
  EPIPE: "broken pipe",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EINVAL: "invalid argument",
  EMFILE: "too many open files",
};

/** The errno as Go prints it: users search and alert on these messages. */
export function errnoMessage(error: unknown): string {
  return errnoMessages[errnoOf(error) ?? ""] ?? messageOf(error);
}

/** Why a connection failed: "dial tcp 10.0.0.1:80: connect: connection refused". */
export function dialError(address: Address, error: unknown): string {
  // Several addresses of one name were tried: the first error is enough.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { syscall } = first as { syscall?: string };
  if (syscall === "getaddrinfo") {
    const why = errnoOf(first) === "ENOTFOUND" ? "no such host" : messageOf(first);
    return `dial tcp: lookup ${address.host}: ${why}`;
  }
  return `dial tcp ${hostPort(address)}: ${syscall ?? "connect"}: ${errnoMessage(first)}`;
}
