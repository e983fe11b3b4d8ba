import { isAbort, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { RpcError, rpcCodeOf } from "../../../../lib/clients/plugin-rpc/rpc-error.ts";
import { csiPluginName } from "./names.ts";

/**
 * final: the driver has done nothing, or undone it. uncertain: the call may be in progress or have succeeded; the driver has to undo it
 * before the volume is dropped. transient: the driver was not called yet, for a temporary reason.
 */
export type Progress = "final" | "uncertain" | "transient";

export class CsiFailure extends KubeletError {
  readonly progress: Progress;

  constructor(progress: Progress, message: string, options?: { cause?: unknown }) {
    super("CsiVolume", message, options);
    this.name = "CsiFailure";
    this.progress = progress;
  }
}

/** Adds the prefix of upstream's CSI messages. */
export function csiText(message: string): string {
  return `${csiPluginName}: ${message}`;
}

export function transient(message: string, cause?: unknown): CsiFailure {
  return new CsiFailure("transient", message, { cause });
}

export function final(message: string, cause?: unknown): CsiFailure {
  return new CsiFailure("final", message, { cause });
}

/** True if the failed call is no longer in progress in the driver. */
export function isFinalError(error: unknown): boolean {
  if (error instanceof CsiFailure) return error.progress === "final";
  return !isAbort(error);
}

const maybeInProgress = new Set([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "UNAVAILABLE",
  "RESOURCE_EXHAUSTED",
  "ABORTED",
]);

/** The failure of a modifying call. */
export function callFailure(error: unknown): CsiFailure {
  if (error instanceof CsiFailure) return error;
  const isFinal = error instanceof RpcError && !maybeInProgress.has(error.grpcCode);
  return new CsiFailure(isFinal ? "final" : "uncertain", messageOf(error), { cause: error });
}

/** The gRPC code that caused a failure. */
export function codeOf(error: unknown): ReturnType<typeof rpcCodeOf> {
  return rpcCodeOf(error) ?? (error instanceof CsiFailure ? rpcCodeOf(error.cause) : undefined);
}
