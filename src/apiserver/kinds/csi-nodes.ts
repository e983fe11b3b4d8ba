import { dnsSubdomain, qualifiedName } from "../../lib/base/name-rules.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

export const csiNodes = defineKind({
  group: "storage.k8s.io",
  version: "v1",
  name: "csinodes",
  singular: "csinode",
  kind: "CSINode",
  namespaced: false,
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
    draft.spec.drivers ??= null;
  },
  check({ spec }, problems) {
    const seen = new Set<string>();
    for (const [i, driver] of (spec.drivers ?? []).entries()) {
      const path = `spec.drivers[${i}]`;
      checkDriverName(driver.name, `${path}.name`, problems);
      if (!driver.nodeID) problems.required(`${path}.nodeID`);
      else if (driver.nodeID.length > 256)
        problems.invalid(`${path}.nodeID`, driver.nodeID, "must be 256 characters or less");
      problems.notNegative(`${path}.allocatable.count`, driver.allocatable?.count);
      if (seen.has(driver.name)) problems.duplicate(`${path}.name`, driver.name);
      seen.add(driver.name);
      checkKeys(driver.topologyKeys, path, problems);
    }
  },
  checkUpdate(draft, oldObject, problems) {
    for (const old of oldObject.spec?.drivers ?? [])
      for (const driver of draft.spec.drivers ?? [])
        if (driver.name === old.name)
          problems.immutable(
            "spec.drivers",
            { ...driver, allocatable: undefined },
            { ...old, allocatable: undefined },
          );
  },
});

function checkKeys(keys: readonly string[] | undefined, path: string, problems: FieldProblems): void {
  const seen = new Set<string>();
  for (const key of keys ?? []) {
    if (key === "") problems.required(path);
    if (seen.has(key)) problems.duplicate(path, key);
    seen.add(key);
    problems.check(path, key, qualifiedName(key));
  }
}

export function checkDriverName(name: string | undefined, path: string, problems: FieldProblems): void {
  if (!name) return problems.required(path);
  if (name.length > 63) problems.tooLong(path, 63);
  problems.check(path, name, dnsSubdomain(name.toLowerCase()));
}
