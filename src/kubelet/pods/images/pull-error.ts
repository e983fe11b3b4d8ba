import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import { CriError, hasGrpcCode, rpcErrorText } from "../../../lib/clients/cri/cri-error.ts";

export interface PullFailure {
  /** The waiting reason of the container. */
  reason: "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed";
  message: string;
}

/** Runtimes start their message with these reasons when they know the cause. */
const known = [
  { reason: "RegistryUnavailable", because: "the registry is unavailable" },
  { reason: "SignatureValidationFailed", because: "the signature validation failed" },
] as const;

/** Reason and message of a failed pull, from the message of the runtime. */
export function pullFailure(image: string, text: string): PullFailure {
  for (const { reason, because } of known)
    if (text.startsWith(reason))
      return {
        reason,
        message: `image pull failed for ${image} because ${because}${text.slice(reason.length)}`,
      };
  return { reason: "ErrImagePull", message: text };
}

/** One text for the errors of all credentials that were tried, without duplicates. */
export function pullErrorText(errors: readonly unknown[]): string {
  const texts = [...new Set(errors.map(textOf))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]`;
}

/** With the gRPC code, unless it is UNKNOWN. */
function textOf(error: unknown): string {
  return hasGrpcCode(error, "UNKNOWN") ? messageOf(error) : rpcErrorText(error);
}

/** "unknown" if the runtime has not responded: it may have completed the pull. */
export function pullOutcome(error: unknown): "failed" | "unknown" {
  const cause = error instanceof Error ? error.cause : undefined;
  const all = cause instanceof AggregateError ? cause.errors : [error, cause];
  return all.some((one) => isAbort(one) || isInterrupted(one)) ? "unknown" : "failed";
}

function isInterrupted(error: unknown): boolean {
  return (
    error instanceof CriError && ["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"].includes(error.grpcCode)
  );
}
