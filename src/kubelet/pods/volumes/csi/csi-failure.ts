import { isAbort, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { RpcError, rpcCodeOf } from "../../../../lib/clients/plugin-rpc/rpc-error.ts";
import { csiPluginName } from "./names.ts";

/**
 * final: the driver has done nothing, or undone it. uncertain: it may still be at work, or have succeeded; it must be asked to
 * undo it before the volume is given up. transient: it was not asked yet, for a reason that may pass.
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

/** With the words in front that users of a kubelet find in front of all that its CSI part says. */
export function csiText(message: string): string {
  return `${csiPluginName}: ${message}`;
}

export function transient(message: string, cause?: unknown): CsiFailure {
  return new CsiFailure("transient", message, { cause });
}

export function final(message: string, cause?: unknown): CsiFailure {
  return new CsiFailure("final", message, { cause });
}

/** True if nothing goes on in the driver any more on behalf of the failed call. */
export function isFinished(error: unknown): boolean {
  if (error instanceof CsiFailure) return error.progress === "final";
  return !isAbort(error);
}

const maybeAtWork = new Set([
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "UNAVAILABLE",
  "RESOURCE_EXHAUSTED",
  "ABORTED",
]);

/** What a failed call that changes something means for the volume. */
export function callFailure(error: unknown): CsiFailure {
  if (error instanceof CsiFailure) return error;
  const isFinal = error instanceof RpcError && !maybeAtWork.has(error.grpcCode);
  return new CsiFailure(isFinal ? "final" : "uncertain", messageOf(error), { cause: error });
}

/** The gRPC code at the bottom of a failure. */
export function codeOf(error: unknown): ReturnType<typeof rpcCodeOf> {
  return rpcCodeOf(error) ?? (error instanceof CsiFailure ? rpcCodeOf(error.cause) : undefined);
}
