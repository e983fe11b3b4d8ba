import { isAbort, KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { StatusDetails } from "../../lib/gen/kubernetes/meta.d.ts";
import { PatchError, type PatchErrorCode } from "../patch/patch-error.ts";
import { StatusError } from "../status-error.ts";
import { StoreError } from "../storage/errors.ts";
import { conflictError, type Named } from "./problems.ts";

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** The object of an error, for the details of its Status. */
export interface Subject extends Named {
  readonly resource: string;
  readonly object: string;
}

const patchStatus: Readonly<Record<PatchErrorCode, number>> = {
  BadRequest: 400,
  Conflict: 409,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

/** Converts any thrown error to a StatusError. */
export function asStatusError(error: unknown, subject?: Subject): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof StoreError) return storeProblem(error, subject);
  if (error instanceof PatchError) return patchProblem(error, subject);
  if (isAbort(error))
    return new StatusError(
      504,
      "Timeout",
      "Timeout: request did not complete within requested timeout - context deadline exceeded",
      {},
    );
  if (error instanceof KubeletError && error.code === "BadRequest")
    return new StatusError(400, "BadRequest", error.message);
  const message = messageOf(error);
  return new StatusError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ reason: "", message }],
  });
}

function storeProblem(error: StoreError, subject: Subject | undefined): StatusError {
  const { status, reason } = error.apiStatus;
  const { retryAfterSeconds } = error;
  switch (error.code) {
    case "NotFound":
    case "AlreadyExists":
    case "Conflict":
      return new StatusError(status, reason, error.message, subject && detailsOf(subject));
    case "FutureVersion":
      return new StatusError(status, reason, `Timeout: ${error.message}`, {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      });
    default:
      return new StatusError(status, reason, error.message, undefined);
  }
}

function patchProblem(error: PatchError, subject: Subject | undefined): StatusError {
  if (error.code === "Conflict" && error.causes.length === 0 && subject)
    return conflictError(subject, subject.resource, subject.object, error.message);
  const { causes } = error;
  const details = causes.length > 0 ? { causes } : undefined;
  return new StatusError(patchStatus[error.code], error.code, error.message, details);
}

function detailsOf({ object, group, name }: Subject): StatusDetails {
  return { name: object, ...(group && { group }), kind: name };
}

/** The Status of a problem. */
export function statusOf(problem: StatusError, continueToken?: string): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: continueToken === undefined ? {} : { continue: continueToken },
    status: "Failure",
    message: problem.message,
    ...(problem.reason && { reason: problem.reason }),
    ...(problem.details && { details: wireDetails(problem.details) }),
    code: problem.status,
  };
}

export function success(details: StatusDetails, code = 200): Status {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details, code };
}

/** An empty reason in a cause is omitted, like all empty fields. */
function wireDetails(details: StatusDetails): StatusDetails {
  if (!details.causes) return details;
  const causes = details.causes.map(({ reason, ...rest }) => (reason ? { reason, ...rest } : rest));
  return { ...details, causes };
}

export function continueTokenOf(error: unknown): string | undefined {
  return error instanceof StoreError ? error.continueToken : undefined;
}
