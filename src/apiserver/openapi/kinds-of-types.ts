import { kindType } from "../../lib/schema/packages.ts";
import type { GroupVersionKind } from "../definition.ts";
import { type DocumentedResource, servedKinds } from "./operations.ts";

/** The kinds of each struct type. DeleteOptions is a kind of every group and version. */
export function kindsOfTypes(definitions: readonly DocumentedResource[]): Map<string, GroupVersionKind[]> {
  const found = new Map<string, GroupVersionKind[]>();
  const add = (kind: GroupVersionKind): void => {
    const type = kindType(kind.group, kind.version, kind.kind);
    if (!type || type.name === "meta.PartialObjectMetadata") return;
    const others = found.get(type.name) ?? [];
    const known = others.some((other) => other.group === kind.group && other.version === kind.version);
    if (!known) found.set(type.name, [...others, kind]);
  };
  for (const { group, version, kind, subresources } of servedKinds(definitions)) {
    add({ group, version, kind });
    add({ group, version, kind: "DeleteOptions" });
    for (const subresource of Object.values(subresources ?? {}))
      if (subresource.type === "action")
        add({ group: subresource.group, version: subresource.version, kind: subresource.kind });
  }
  add({ group: "", version: "v1", kind: "Status" });
  return found;
}
