import type { Attributes, Authorizer } from "../access.ts";
import type { Caller } from "../definition.ts";
import { StatusError } from "../status-error.ts";
import { resourceName } from "./catalog.ts";
import { forbidden } from "./problems.ts";

/** Throws if the caller is not authorized. */
export async function mustBeAllowed(
  authorizer: Authorizer,
  caller: Caller,
  attributes: Attributes,
): Promise<void> {
  const { allowed, reason } = await authorizer.allows(caller, attributes);
  if (!allowed) throw forbiddenError(caller, attributes, reason);
}

export function forbiddenError(caller: Caller, attributes: Attributes, reason?: string): StatusError {
  const { group, resource, name } = attributes;
  const why = forbiddenMessage(caller, attributes) + (reason ? `: ${reason}` : "");
  if (attributes.path !== undefined) return new StatusError(403, "Forbidden", `forbidden: ${why}`, {});
  return forbidden({ name: resource, group }, resourceName(resource, group), name, why);
}

function forbiddenMessage({ name: user }: Caller, attributes: Attributes): string {
  const { verb, group, resource, subresource, path } = attributes;
  const prefix = `User ${JSON.stringify(user)} cannot ${verb}`;
  if (path !== undefined) return `${prefix} path ${JSON.stringify(path)}`;
  const subject = JSON.stringify(subresource === "" ? resource : `${resource}/${subresource}`);
  // For authorization, a Namespace object belongs to the namespace of its own name.
  const namespace = attributes.namespace || (resource === "namespaces" ? attributes.name : "");
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  return `${prefix} resource ${subject} in API group ${JSON.stringify(group)} ${scope}`;
}
