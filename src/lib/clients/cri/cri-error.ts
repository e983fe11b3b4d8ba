import { type ServiceError, status } from "@grpc/grpc-js";
import { KubeletError, messageOf } from "../../base/errors.ts";

/** The names of the gRPC status codes, as they are written in the specification. */
export type GrpcCode = Exclude<keyof typeof status, "OK">;

/** A call that the runtime refused or that never reached it. The message is the runtime's own. */
export class CriError extends KubeletError {
  readonly grpcCode: GrpcCode;
  /** The CRI method, e.g. "RunPodSandbox". */
  readonly method: string;

  constructor(grpcCode: GrpcCode, method: string, message: string, options?: { cause?: unknown }) {
    super("RuntimeCall", message, options);
    this.name = "CriError";
    this.grpcCode = grpcCode;
    this.method = method;
  }
}

export function hasGrpcCode(error: unknown, code: GrpcCode): boolean {
  return error instanceof CriError && error.grpcCode === code;
}

/** The error with its code, in the form that tools look for; one that is not the runtime's as it is. */
export function rpcErrorText(error: unknown): string {
  if (!(error instanceof CriError)) return messageOf(error);
  return `rpc error: code = ${goName(error.grpcCode)} desc = ${error.message}`;
}

/** NOT_FOUND is "NotFound" in messages that people know and tools look for. */
function goName(code: GrpcCode): string {
  if (code === "CANCELLED") return "Canceled";
  return code.replace(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}

/** What grpc-js gave back, as an error of ours. */
export function toCriError(method: string, error: unknown): CriError {
  const { code, details } = error as Partial<ServiceError>;
  const name = typeof code === "number" ? (status[code] as GrpcCode | undefined) : undefined;
  return new CriError(name ?? "UNKNOWN", method, plain(details || messageOf(error)), { cause: error });
}

/** grpc-js wraps the one thing a user can act on: "connect ENOENT /run/containerd/containerd.sock". */
function plain(message: string): string {
  return (
    /^No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note:/s.exec(message)?.[1] ??
    message
  );
}
