import { errnoOf, KubeletError, messageOf } from "../../lib/base/errors.ts";
import { StatusError } from "../status-error.ts";
import { type HostPort, hostPort } from "./kubelet-address.ts";

export class DialTimeout extends KubeletError {
  constructor(backend: HostPort) {
    super("DialTimeout", `dial tcp ${hostPort(backend)}: i/o timeout`);
  }
}

const connectProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  ETIMEDOUT: "connection timed out",
};

const certificateProblems: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate signed by unknown authority",
  UNABLE_TO_GET_ISSUER_CERT: "certificate signed by unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate signed by unknown authority",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate signed by unknown authority",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate signed by unknown authority",
  CERT_HAS_EXPIRED: "certificate has expired or is not yet valid",
  CERT_NOT_YET_VALID: "certificate has expired or is not yet valid",
};

/** Why a backend could not be reached, with the messages that users of an API server search for. */
export function dialMessage(thrown: unknown, backend: HostPort): string {
  // A name with several addresses fails once for each of them: the first failure is reported.
  const error = thrown instanceof AggregateError ? (thrown.errors[0] ?? thrown) : thrown;
  const code = errnoOf(error) ?? "";
  const syscall = (error as { syscall?: unknown }).syscall;
  if (code === "ENOTFOUND") return `dial tcp: lookup ${backend.host}: no such host`;
  if (syscall === "connect" && connectProblems[code] !== undefined)
    return `dial tcp ${hostPort(backend)}: connect: ${connectProblems[code]}`;
  const certificate = certificateProblems[code];
  if (certificate !== undefined) return `tls: failed to verify certificate: x509: ${certificate}`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `tls: failed to verify certificate: x509: certificate is not valid for ${backend.host}`;
  if (code === "ECONNRESET") {
    const hungUp = messageOf(error) === "socket hang up";
    return hungUp ? "EOF" : `read tcp ${hostPort(backend)}: read: connection reset by peer`;
  }
  return messageOf(error);
}

/** A connection that could not be upgraded because no backend was reachable. */
export function unreachable(error: unknown, backend: HostPort): StatusError {
  const why = dialMessage(error, backend);
  const dialing = why.startsWith("dial ") || why.startsWith("tls: ");
  return new StatusError(500, "", dialing ? `error dialing backend: ${why}` : why);
}
