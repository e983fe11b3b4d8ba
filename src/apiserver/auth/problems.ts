import type { AdmissionRequest } from "../access.ts";
import * as rest from "../rest/problems.ts";
import type { StatusError } from "../status-error.ts";

export { badRequest } from "../rest/problems.ts";

/** Resource and group in one, as messages name them: "leases.coordination.k8s.io". */
export function qualified(resource: string, group: string): string {
  return group ? `${resource}.${group}` : resource;
}

/** The error of an admission plugin that rejects a request. */
export function forbidden(request: AdmissionRequest, why: string): StatusError {
  const { group, resource, object } = request;
  const name = request.name || object?.metadata.name || object?.metadata.generateName || "Unknown";
  return rest.forbidden({ name: resource, group }, qualified(resource, group), name, why);
}

/** The error for a missing object of the core group. */
export function notFound(resource: string, name: string): StatusError {
  return rest.notFoundError({ name: resource, group: "" }, resource, name);
}

export function conflict(kind: string, group: string, name: string, why: string): StatusError {
  return rest.conflictError({ name: kind, group }, qualified(kind, group), name, why);
}
