import { kindType } from "../../lib/schema/packages.ts";
import { type Described, type GroupVersionKind, servedKinds } from "./operations.ts";

/** Which kinds each struct type is. Options of a delete and the like are a kind of every group and version. */
export function kindsOfTypes(definitions: readonly Described[]): Map<string, GroupVersionKind[]> {
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
    for (const door of Object.values(subresources ?? {}))
      if (door.how === "action") add({ group: door.group, version: door.version, kind: door.kind });
  }
  add({ group: "", version: "v1", kind: "Status" });
  return found;
}
