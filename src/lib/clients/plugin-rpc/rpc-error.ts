import { KubeletError } from "../../base/errors.ts";
import { CriError, type GrpcCode } from "../cri/cri-error.ts";
import { maxErrorLength, shortened } from "./shortened.ts";

/** A call that a plugin rejected or that never reached it. The message has the form of gRPC errors in Go. */
export class RpcError extends KubeletError {
  readonly grpcCode: GrpcCode;
  /** E.g. "NodePublishVolume". */
  readonly method: string;
  /** The error message of the plugin. */
  readonly details: string;

  constructor(grpcCode: GrpcCode, method: string, details: string, options?: { cause?: unknown }) {
    super("PluginCall", `rpc error: code = ${codeName(grpcCode)} desc = ${details}`, options);
    this.name = "RpcError";
    this.grpcCode = grpcCode;
    this.method = method;
    this.details = details;
  }
}

/** "INVALID_ARGUMENT" -> "InvalidArgument": the name that Kubernetes logs and dashboards use. */
export function codeName(code: GrpcCode): string {
  if (code === "CANCELLED") return "Canceled";
  return code
    .split("_")
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join("");
}

export function rpcCodeOf(error: unknown): GrpcCode | undefined {
  return error instanceof RpcError ? error.grpcCode : undefined;
}

export function toRpcError(error: unknown): unknown {
  if (!(error instanceof CriError)) return error;
  const details = error.grpcCode === "DEADLINE_EXCEEDED" ? "context deadline exceeded" : error.message;
  return new RpcError(error.grpcCode, error.method, shortened(details, maxErrorLength), { cause: error });
}
