import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import { CriError, hasGrpcCode, rpcErrorText } from "../../../lib/clients/cri/cri-error.ts";

export interface PullFailure {
  /** The reason that users see. */
  reason: "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed";
  message: string;
}

/** Runtimes begin their message with these words when they know more than that it failed. */
const known = [
  { reason: "RegistryUnavailable", because: "the registry is unavailable" },
  { reason: "SignatureValidationFailed", because: "the signature validation failed" },
] as const;

/** What a failed pull means to the user, from what the runtime said. */
export function pullFailure(image: string, said: string): PullFailure {
  for (const { reason, because } of known)
    if (said.startsWith(reason))
      return {
        reason,
        message: `image pull failed for ${image} because ${because}${said.slice(reason.length)}`,
      };
  return { reason: "ErrImagePull", message: said };
}

/** One text for the failures with all credentials that were tried; the same is not said twice. */
export function pullErrorText(errors: readonly unknown[]): string {
  const texts = [...new Set(errors.map(textOf))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]`;
}

/** With the code that the runtime gave, where it says something. */
function textOf(error: unknown): string {
  return hasGrpcCode(error, "UNKNOWN") ? messageOf(error) : rpcErrorText(error);
}

/** Whether the image may have come all the same: the runtime has not answered, so it may have gone on. */
export function pullEnd(error: unknown): "failed" | "unknown" {
  const cause = error instanceof Error ? error.cause : undefined;
  const all = cause instanceof AggregateError ? cause.errors : [error, cause];
  return all.some((one) => isAbort(one) || isCut(one)) ? "unknown" : "failed";
}

function isCut(error: unknown): boolean {
  return (
    error instanceof CriError && ["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"].includes(error.grpcCode)
  );
}
