import { dnsSubdomain } from "../../lib/base/name-rules.ts";
import { defineKind } from "./define.ts";
import { nameIsSubdomain } from "./names.ts";

interface Pool {
  readonly name?: string;
  readonly resourceSliceCount?: number;
}

interface Device {
  readonly name?: string;
}

const maxDevices = 128;
const oneLocation =
  "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

export const resourceSlices = defineKind({
  group: "resource.k8s.io",
  version: "v1",
  name: "resourceslices",
  singular: "resourceslice",
  kind: "ResourceSlice",
  namespaced: false,
  countsGenerations: true,
  nameRule: nameIsSubdomain,
  check({ spec }, problems) {
    problems.check("spec.driver", spec.driver, dnsSubdomain(spec.driver ?? ""));
    const pool: Pool = spec.pool ?? {};
    if (!pool.name) problems.required("spec.pool.name");
    if (!((pool.resourceSliceCount ?? 0) > 0))
      problems.invalid("spec.pool.resourceSliceCount", pool.resourceSliceCount, "must be greater than zero");
    const locations = [spec.nodeName, spec.nodeSelector, spec.allNodes, spec.perDeviceNodeSelection];
    const given = locations.filter((location) => location !== undefined && location !== false).length;
    if (given === 0) problems.required("spec", oneLocation);
    if (given > 1) problems.invalid("spec", spec, oneLocation);
    const devices: Device[] = spec.devices ?? [];
    if (devices.length > maxDevices) problems.tooLong("spec.devices", maxDevices);
    const names = new Set<string>();
    for (const [i, { name = "" }] of devices.entries()) {
      if (names.has(name)) problems.duplicate(`spec.devices[${i}].name`, name);
      names.add(name);
    }
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("spec.driver", draft.spec.driver, oldObject.spec.driver);
    problems.immutable("spec.pool.name", draft.spec.pool?.name, oldObject.spec.pool?.name);
    problems.immutable("spec.nodeName", draft.spec.nodeName, oldObject.spec.nodeName);
  },
});
