import { KubeletError } from "../../lib/base/errors.ts";

/** The reasons of the answer that a refused patch leads to: 400, 409, 413, 422. */
export type PatchErrorCode = "BadRequest" | "Conflict" | "RequestEntityTooLarge" | "Invalid";

/** One entry of `details.causes` of the answer. */
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
