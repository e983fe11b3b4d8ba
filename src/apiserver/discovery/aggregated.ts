import { apiVersionOf, type Catalog, type Served, verbsOf } from "../rest/catalog.ts";
import { groupsOf, servedBy, subresourcesOf } from "./resource-lists.ts";

/** Aggregated discovery: everything below /api or /apis in one response. */
export function aggregated(catalog: Catalog, root: "api" | "apis"): object {
  const items = [...groupsOf(catalog)]
    .filter(([group]) => (group === "") === (root === "api"))
    .map(([group, versions]) => ({
      metadata: { ...(group && { name: group }), creationTimestamp: null },
      versions: versions.map((version) => ({
        version,
        resources: servedBy(catalog, apiVersionOf(group, version)).map(resource),
        freshness: "Current",
      })),
    }));
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
}

function resource(served: Served): object {
  const { definition, group, version } = served;
  const { name, singular, namespaced, kind, shortNames, categories } = definition;
  const subresources = subresourcesOf(served).map((sub) => ({
    subresource: sub.name,
    responseKind: { group: sub.group, version: sub.version, kind: sub.kind },
    verbs: sub.verbs,
  }));
  return {
    resource: name,
    responseKind: { group, version, kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: verbsOf(definition),
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    ...(subresources.length > 0 && { subresources }),
  };
}
