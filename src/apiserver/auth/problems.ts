import type { AdmissionRequest } from "../access.ts";
import type { ApiProblem } from "../api-problem.ts";
import * as rest from "../rest/problems.ts";

export { badRequest } from "../rest/problems.ts";

/** Resource and group in one, as messages name them: "leases.coordination.k8s.io". */
export function qualified(resource: string, group: string): string {
  return group ? `${resource}.${group}` : resource;
}

/** What admission refuses. */
export function forbidden(request: AdmissionRequest, why: string): ApiProblem {
  const { group, resource, object } = request;
  const name = request.name || object?.metadata.name || object?.metadata.generateName || "Unknown";
  return rest.forbidden({ name: resource, group }, qualified(resource, group), name, why);
}

/** Of the core group. */
export function notFound(resource: string, name: string): ApiProblem {
  return rest.notFoundProblem({ name: resource, group: "" }, resource, name);
}

export function conflict(kind: string, group: string, name: string, why: string): ApiProblem {
  return rest.conflictProblem({ name: kind, group }, qualified(kind, group), name, why);
}
