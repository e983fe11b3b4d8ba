import { httpStatusOf } from "../../lib/base/errors.ts";
import { TransportError } from "../../lib/clients/kube/api-error.ts";

/**
 * Whether a failed request shows an API server that works but rejects us: then other credentials may help. Undefined if
 * the failure does not show it.
 */
export function serverRejectedUs(error: unknown): boolean | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof TransportError) return false;
    const status = httpStatusOf(cause);
    if (status !== undefined) return status === 401 || status === 403 || status === 404;
  }
  return undefined;
}
