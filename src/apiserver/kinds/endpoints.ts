import { dnsLabel, portNumber } from "../../lib/base/name-rules.ts";
import type { EndpointSubset } from "../../lib/gen/kubernetes/core.d.ts";
import { core } from "../../lib/schema/types/core/core.ts";
import { checkAddress, checkReachable } from "./addresses.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

export const protocols = core.values("Protocol");

export const endpoints = defineKind({
  group: "",
  version: "v1",
  name: "endpoints",
  singular: "endpoints",
  kind: "Endpoints",
  namespaced: true,
  shortNames: ["ep"],
  nameRule: nameIsSubdomain,
  createsOnUpdate: true,
  defaults(draft) {
    for (const subset of draft.subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= "TCP";
  },
  check({ subsets }, problems) {
    for (const [i, subset] of (subsets ?? []).entries()) checkSubset(subset, `subsets[${i}]`, problems);
  },
});

function checkSubset(subset: EndpointSubset, path: string, problems: FieldProblems): void {
  if (!subset.addresses?.length && !subset.notReadyAddresses?.length)
    problems.required(path, "must specify `addresses` or `notReadyAddresses`");
  for (const list of ["addresses", "notReadyAddresses"] as const)
    for (const [i, { ip = "" }] of (subset[list] ?? []).entries()) {
      const at = `${path}.${list}[${i}].ip`;
      if (checkAddress(at, ip, problems)) checkReachable(at, ip, problems);
    }
  const ports = subset.ports ?? [];
  for (const [i, { name = "", port = 0, protocol = "" }] of ports.entries()) {
    const at = `${path}.ports[${i}]`;
    if (name === "" && ports.length > 1) problems.required(`${at}.name`);
    else if (name !== "") problems.check(`${at}.name`, name, dnsLabel(name));
    problems.check(`${at}.port`, port, portNumber(port));
    if (protocol === "") problems.required(`${at}.protocol`);
    else problems.oneOf(`${at}.protocol`, protocol, protocols);
  }
}
