import { KubeletError } from "../lib/base/errors.ts";
import type { StatusDetails } from "../lib/gen/kubernetes/meta.d.ts";

/** An error that is returned to the client as a Status. */
export class StatusError extends KubeletError {
  readonly status: number;
  /** NotFound, Conflict, Invalid, … as clients know them. */
  readonly reason: string;
  /** `kind` is the kind in validation errors, the plural in all others. */
  readonly details: StatusDetails | undefined;

  constructor(status: number, reason: string, message: string, details?: StatusDetails) {
    super(reason, message);
    this.status = status;
    this.reason = reason;
    this.details = details;
  }
}
