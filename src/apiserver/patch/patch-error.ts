import { KubeletError } from "../../lib/base/errors.ts";
import type { StatusCause } from "../../lib/gen/kubernetes/meta.d.ts";

/** Reasons of a rejected patch: 400, 409, 413, 422. */
export type PatchErrorCode = "BadRequest" | "Conflict" | "RequestEntityTooLarge" | "Invalid";

export class PatchError extends KubeletError {
  declare readonly code: PatchErrorCode;
  /** The entries of `details.causes` of the Status. */
  readonly causes: StatusCause[];
  constructor(code: PatchErrorCode, message: string, causes: StatusCause[] = []) {
    super(code, message);
    this.name = "PatchError";
    this.causes = causes;
  }
}
