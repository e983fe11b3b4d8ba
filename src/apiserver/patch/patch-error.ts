import { KubeletError } from "../../lib/base/errors.ts";

/** Reasons of a rejected patch: 400, 409, 413, 422. */
export type PatchErrorCode = "BadRequest" | "Conflict" | "RequestEntityTooLarge" | "Invalid";

/** One entry of `details.causes` of the Status. */
export interface PatchErrorCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

export class PatchError extends KubeletError {
  declare readonly code: PatchErrorCode;
  readonly causes: readonly PatchErrorCause[];
  constructor(code: PatchErrorCode, message: string, causes: readonly PatchErrorCause[] = []) {
    super(code, message);
    this.name = "PatchError";
    this.causes = causes;
  }
}
