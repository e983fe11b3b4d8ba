import { KubeletError } from "../lib/base/errors.ts";

/** A cause in Status.details, for example `FieldValueInvalid` of a field. */
export interface Cause {
  readonly reason?: string;
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

/** An error that is returned to the client as a Status. */
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
