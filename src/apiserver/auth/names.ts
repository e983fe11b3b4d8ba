import type { Caller } from "../definition.ts";

export const masters = "system:masters";
export const nodes = "system:nodes";
export const authenticated = "system:authenticated";
export const unauthenticated = "system:unauthenticated";
export const bootstrappers = "system:bootstrappers";
export const serviceAccounts = "system:serviceaccounts";
export const nodeUserPrefix = "system:node:";
const serviceAccountPrefix = "system:serviceaccount:";

/** A caller without credentials. */
export const anonymous: Caller = { name: "system:anonymous", groups: [unauthenticated] };

/** The ID of the credential, in the extra fields of a caller. */
export const credentialId = "authentication.kubernetes.io/credential-id";

/** The name of the calling node: "" for a node without a name; undefined if the caller is not a node. */
export function nodeNameOf(caller: Caller): string | undefined {
  if (!caller.name.startsWith(nodeUserPrefix)) return undefined;
  return caller.groups.includes(nodes) ? caller.name.slice(nodeUserPrefix.length) : undefined;
}

export function serviceAccountUser(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`;
}

/** The groups of a service account's user name; none for other names. */
export function serviceAccountGroups(user: string): string[] {
  const namespace = namespaceIn(user);
  return namespace === undefined ? [] : [serviceAccounts, `${serviceAccounts}:${namespace}`];
}

/** The namespace of the calling service account, undefined for other callers. */
export function serviceAccountNamespaceOf(caller: Caller): string | undefined {
  const namespace = namespaceIn(caller.name);
  return caller.groups.includes(`${serviceAccounts}:${namespace}`) ? namespace : undefined;
}

function namespaceIn(user: string): string | undefined {
  if (!user.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace, name, ...more] = user.slice(serviceAccountPrefix.length).split(":");
  return namespace && name && more.length === 0 ? namespace : undefined;
}

/** Paths that are served without authentication. */
export function isPublicPath(path: string): boolean {
  return publicPaths.includes(path);
}

export const publicPaths: readonly string[] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
