import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { HttpError } from "../http-error.ts";

/** What the runtime said instead of a URL, as callers are told. */
export function runtimeRefusal(error: unknown): unknown {
  if (error instanceof HttpError || isAbort(error)) return error;
  if (hasGrpcCode(error, "NOT_FOUND")) return new HttpError(404, messageOf(error), { cause: error });
  if (hasGrpcCode(error, "RESOURCE_EXHAUSTED"))
    return new HttpError(429, messageOf(error), { cause: error, headers: { "retry-after": "5" } });
  return new HttpError(500, messageOf(error), { cause: error });
}
