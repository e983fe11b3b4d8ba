import { type ServiceError, status } from "@grpc/grpc-js";
import { KubeletError, messageOf } from "../../base/errors.ts";

/** The names of the gRPC status codes, as they are written in the specification. */
export type GrpcCode = Exclude<keyof typeof status, "OK">;

/** A call that the runtime rejected or that never reached it. The message is the runtime's own. */
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

/** The error with its code, in the form that tools match; errors of other origin unchanged. */
export function rpcErrorText(error: unknown): string {
  if (!(error instanceof CriError)) return messageOf(error);
  return `rpc error: code = ${goName(error.grpcCode)} desc = ${error.message}`;
}

/** NOT_FOUND is "NotFound" in messages of Go clients. */
function goName(code: GrpcCode): string {
  if (code === "CANCELLED") return "Canceled";
  return code.replace(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase());
}

/** Converts an error of grpc-js. */
export function toCriError(method: string, error: unknown): CriError {
  const { code, details } = error as Partial<ServiceError>;
  const name = typeof code === "number" ? (status[code] as GrpcCode | undefined) : undefined;
  return new CriError(name ?? "UNKNOWN", method, plain(details || messageOf(error)), { cause: error });
}

/** grpc-js wraps the part that a user can act on: "connect ENOENT /run/containerd/containerd.sock". */
function plain(message: string): string {
  return (
    /^No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note:/s.exec(message)?.[1] ??
    message
  );
}
