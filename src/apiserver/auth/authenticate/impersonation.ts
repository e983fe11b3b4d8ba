import type { IncomingMessage } from "node:http";
import type { Authorizer } from "../../access.ts";
import type { Caller } from "../../definition.ts";
import { forbiddenError } from "../../rest/permission.ts";
import { anonymous, authenticated, serviceAccountGroups, unauthenticated } from "../names.ts";
import { badRequest } from "../problems.ts";

const extraPrefix = "impersonate-extra-";

/** The user to impersonate (kubectl --as), if the caller may; the caller itself without such headers. */
export async function impersonated(
  caller: Caller,
  request: IncomingMessage,
  authorizer: Authorizer,
): Promise<Caller> {
  const headers = headersOf(request);
  const [name = ""] = headers.get("impersonate-user") ?? [];
  const groups = headers.get("impersonate-group") ?? [];
  const [uid = ""] = headers.get("impersonate-uid") ?? [];
  const extra = Object.fromEntries(
    [...headers].flatMap(([key, values]) =>
      key.startsWith(extraPrefix) ? [[unescaped(key.slice(extraPrefix.length)), values]] : [],
    ),
  );
  if (!name) {
    if (groups.length > 0 || uid || Object.keys(extra).length > 0)
      throw badRequest("requested impersonation of groups, uid or extra without impersonating a user");
    return caller;
  }
  const requested = [
    ["users", name],
    ...groups.map((group) => ["groups", group]),
    ...(uid ? [["uids", uid]] : []),
    ...Object.keys(extra).map((key) => ["userextras", key]),
  ] as [string, string][];
  for (const [resource, what] of requested) await mustBeAllowed(caller, resource, what, authorizer);
  return {
    name,
    groups: groupsOf(name, groups),
    ...(uid && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

async function mustBeAllowed(
  caller: Caller,
  resource: string,
  name: string,
  authorizer: Authorizer,
): Promise<void> {
  const group = resource === "users" || resource === "groups" ? "" : "authentication.k8s.io";
  const attributes = {
    verb: "impersonate",
    group,
    version: "v1",
    resource,
    subresource: "",
    namespace: "",
    name,
  };
  const { allowed, reason } = await authorizer.allows(caller, attributes);
  if (!allowed) throw forbiddenError(caller, attributes, reason);
}

function groupsOf(name: string, requested: readonly string[]): string[] {
  if (name === anonymous.name) return [...new Set([...requested, unauthenticated])];
  const groups = requested.length > 0 ? requested : serviceAccountGroups(name);
  return [...new Set([...groups, authenticated])];
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** All values of the impersonation headers, by lower-case name. */
function headersOf({ rawHeaders = [] }: IncomingMessage): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const key = rawHeaders[i]!.toLowerCase();
    if (key.startsWith("impersonate-")) found.set(key, [...(found.get(key) ?? []), rawHeaders[i + 1]!]);
  }
  return found;
}
