import type { Caller } from "../../definition.ts";
import {
  authenticated,
  bootstrappers,
  masters,
  nodes,
  publicPaths,
  serviceAccountNamespaceOf,
  serviceAccounts,
  unauthenticated,
} from "../names.ts";
import type { ResourceRule, Rule } from "./rules.ts";

const read = ["get", "list", "watch"];
const requests = "certificatesigningrequests";

/** The permissions of each group in all namespaces. The embedded API has no roles or bindings. */
const grants: Readonly<Record<string, readonly Rule[]>> = {
  [masters]: [
    { verbs: ["*"], groups: ["*"], resources: ["*"] },
    { verbs: ["*"], paths: ["*"] },
  ],
  [unauthenticated]: [{ verbs: ["get"], paths: publicPaths }],
  [authenticated]: [
    {
      verbs: ["get"],
      paths: [...publicPaths, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"],
    },
    { verbs: ["create"], groups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
    {
      verbs: ["create"],
      groups: ["authorization.k8s.io"],
      resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
  ],
  [serviceAccounts]: [
    {
      verbs: ["get"],
      paths: [
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "/openid/v1/jwks",
        "/openid/v1/jwks/",
      ],
    },
    { verbs: read, groups: ["certificates.k8s.io"], resources: ["clustertrustbundles"] },
  ],
  [bootstrappers]: [
    { verbs: ["create", ...read], groups: ["certificates.k8s.io"], resources: [requests] },
    { verbs: ["create"], groups: ["certificates.k8s.io"], resources: [`${requests}/nodeclient`] },
  ],
  [nodes]: [
    { verbs: ["create"], groups: ["certificates.k8s.io"], resources: [`${requests}/selfnodeclient`] },
  ],
};

/** The permissions of a service account in its own namespace: read, except secrets. */
const namespaceRules: readonly ResourceRule[] = [
  { verbs: read, groups: [""], resources: ["pods", "pods/status", "configmaps", "services", "endpoints"] },
  { verbs: read, groups: ["discovery.k8s.io"], resources: ["endpointslices"] },
];

/** The rules that apply to a caller in a namespace ("": cluster-scoped). */
export function rulesFor(caller: Caller, namespace: string): readonly Rule[] {
  const rules = caller.groups.flatMap((group) => (Object.hasOwn(grants, group) ? grants[group]! : []));
  const home = serviceAccountNamespaceOf(caller);
  return home !== undefined && home === namespace ? [...rules, ...namespaceRules] : rules;
}
