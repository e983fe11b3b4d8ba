import { dnsLabel, dnsSubdomain, portNumber } from "../../lib/base/name-rules.ts";
import { checkAddress, familyOf } from "./addresses.ts";
import { defineKind } from "./define.ts";
import { protocols } from "./endpoints.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

const maxEndpoints = 1000;
const maxPorts = 100;
const maxAddresses = 100;
const types = ["FQDN", "IPv4", "IPv6"];

export const endpointSlices = defineKind({
  group: "discovery.k8s.io",
  version: "v1",
  name: "endpointslices",
  singular: "endpointslice",
  kind: "EndpointSlice",
  namespaced: true,
  nameRule: nameIsSubdomain,
  countsGenerations: true,
  defaults(draft) {
    for (const port of draft.ports ?? []) {
      port.name ??= "";
      port.protocol ??= "TCP";
    }
  },
  check({ addressType, endpoints, ports }, problems) {
    if (!addressType) problems.required("addressType");
    else problems.oneOf("addressType", addressType, types);
    if (endpoints?.length > maxEndpoints) problems.tooMany("endpoints", endpoints.length, maxEndpoints);
    for (const [i, endpoint] of (endpoints ?? []).entries())
      checkAddresses(endpoint.addresses ?? [], addressType, `endpoints[${i}].addresses`, problems);
    checkPorts(ports ?? [], problems);
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("addressType", draft.addressType, oldObject.addressType);
  },
});

function checkAddresses(
  addresses: readonly string[],
  type: string,
  path: string,
  problems: FieldProblems,
): void {
  if (addresses.length === 0) problems.required(path, "must contain at least 1 address");
  if (addresses.length > maxAddresses) problems.tooMany(path, addresses.length, maxAddresses);
  for (const [i, address] of addresses.entries()) {
    const at = `${path}[${i}]`;
    if (type === "FQDN") problems.check(at, address, dnsSubdomain(address));
    else if (checkAddress(at, address, problems) && familyOf(address) !== type)
      problems.invalid(at, address, `must be an ${type} address`);
  }
}

interface Port {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
}

function checkPorts(ports: readonly Port[], problems: FieldProblems): void {
  if (ports.length > maxPorts) problems.tooMany("ports", ports.length, maxPorts);
  const names = new Set<string>();
  for (const [i, { name = "", port, protocol = "" }] of ports.entries()) {
    const at = `ports[${i}]`;
    if (name !== "") problems.check(`${at}.name`, name, dnsLabel(name));
    if (names.has(name)) problems.duplicate(`${at}.name`, name);
    names.add(name);
    if (port !== undefined) problems.check(`${at}.port`, port, portNumber(port));
    problems.oneOf(`${at}.protocol`, protocol, protocols);
  }
}
