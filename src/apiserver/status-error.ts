import { KubeletError } from "../lib/base/errors.ts";

/** A cause in the details of an answer: `FieldValueInvalid` of a field, for one. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusErrorDetails {
  readonly name?: string;
  readonly group?: string;
  /** The kind in validation errors, the plural in all others. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

/** A request that is refused: it becomes the Status that is answered. */
export class StatusError extends KubeletError {
  readonly status: number;
  /** NotFound, Conflict, Invalid, … as clients know them. */
  readonly reason: string;
  readonly details: StatusErrorDetails | undefined;

  constructor(status: number, reason: string, message: string, details?: StatusErrorDetails) {
    super(reason, message);
    this.status = status;
    this.reason = reason;
    this.details = details;
  }
}
