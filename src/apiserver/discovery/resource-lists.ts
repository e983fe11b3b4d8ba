import type { Subresource } from "../definition.ts";
import { compareText } from "../patch/text-order.ts";
import { type Catalog, type Served, verbsOf } from "../rest/catalog.ts";

export interface OfferedSubresource {
  readonly name: string;
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly verbs: readonly string[];
}

export function subresourcesOf(served: Served): OfferedSubresource[] {
  return Object.entries(served.definition.subresources ?? {})
    .filter(([, subresource]) => subresource.type !== "update" || !subresource.internal)
    .map(([name, subresource]) => offered(served, name, subresource))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

/** A connect subresource has the kind of its options. */
const connectKinds: Readonly<Record<string, string>> = {
  attach: "PodAttachOptions",
  exec: "PodExecOptions",
  portforward: "PodPortForwardOptions",
};

function offered(served: Served, name: string, subresource: Subresource): OfferedSubresource {
  const { definition, group, version } = served;
  const own = { name, kind: definition.kind, group, version };
  switch (subresource.type) {
    case "update":
      return { ...own, verbs: ["get", "patch", "update"] };
    case "action": {
      const { kind } = subresource;
      return { ...own, kind, group: subresource.group, version: subresource.version, verbs: ["create"] };
    }
    case "connect": {
      const kind =
        name === "proxy" ? `${definition.kind}ProxyOptions` : (connectKinds[name] ?? definition.kind);
      return { ...own, kind, verbs: [...subresource.verbs].sort(compareText) };
    }
    default:
      return subresource satisfies never;
  }
}

/** One version of a group with its resources, sorted by name. */
export function servedBy(catalog: Catalog, apiVersion: string): Served[] {
  return catalog.all
    .filter((served) => served.apiVersion === apiVersion)
    .sort((left, right) => (left.definition.name < right.definition.name ? -1 : 1));
}

/** The groups with their versions; the core group is "" and comes first. */
export function groupsOf(catalog: Catalog): Map<string, string[]> {
  const groups = new Map<string, string[]>([["", []]]);
  for (const { group, version } of catalog.all) {
    const versions = groups.get(group) ?? [];
    if (!versions.includes(version)) versions.push(version);
    groups.set(group, versions);
  }
  return groups;
}

/** The resources of a version, as `kubectl api-resources` shows them. */
export function resourceList(catalog: Catalog, apiVersion: string): object {
  const resources = servedBy(catalog, apiVersion).flatMap((served) => {
    const { name, singular, namespaced, kind, shortNames, categories } = served.definition;
    const main = {
      name,
      singularName: singular,
      namespaced,
      kind,
      verbs: verbsOf(served.definition),
      ...(shortNames && { shortNames }),
      ...(categories && { categories }),
    };
    const below = subresourcesOf(served).map((sub) => {
      const ofOtherGroup = sub.group !== served.group || sub.version !== served.version;
      return {
        name: `${name}/${sub.name}`,
        singularName: "",
        namespaced,
        ...(ofOtherGroup && { group: sub.group, version: sub.version }),
        kind: sub.kind,
        verbs: sub.verbs,
      };
    });
    return [main, ...below];
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersion, resources };
}
