import { dnsLabel, dnsSubdomain, portName, portNumber, qualifiedName } from "../../../lib/base/name-rules.ts";
import type { ServicePort } from "../../../lib/gen/kubernetes/core.d.ts";
import { checkLabels } from "../../../lib/model/validation/metadata.ts";
import { core } from "../../../lib/schema/types/core/core.ts";
import type { Unstructured } from "../../definition.ts";
import { checkAddress, checkCidr, checkReachable, familyOf } from "../addresses.ts";
import { protocols } from "../endpoints.ts";
import type { FieldProblems } from "../field-problems.ts";
import { isExternal, isHeadless, needsHealthCheck, type ServiceSpec, specOf } from "./service.ts";

const types = core.values("ServiceType");
const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'";
const maxAffinitySeconds = 86_400;

export function checkService(draft: Unstructured, problems: FieldProblems): void {
  const spec = specOf(draft);
  if (!spec.ports?.length && !isHeadless(spec) && spec.type !== "ExternalName")
    problems.required("spec.ports");
  if ((spec.type === "LoadBalancer" || spec.type === "NodePort") && isHeadless(spec))
    problems.invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${spec.type} services`);
  if (spec.type === "ExternalName") checkExternalName(spec, problems);
  checkPorts(spec, problems);
  checkLabels(spec.selector, "spec.selector", problems);
  checkAffinity(spec, problems);
  if (spec.type !== "ExternalName") checkClusterIps(spec, problems);
  for (const [i, address] of (spec.externalIPs ?? []).entries()) {
    const path = `spec.externalIPs[${i}]`;
    if (checkAddress(path, address, problems)) checkReachable(path, address, problems);
  }
  problems.oneOf("spec.type", spec.type, types);
  checkLoadBalancer(spec, problems);
  checkTraffic(spec, problems);
}

function checkExternalName(spec: ServiceSpec, problems: FieldProblems): void {
  const forbidden = "may not be set for ExternalName services";
  if (spec.clusterIPs?.length) problems.forbidden("spec.clusterIPs", forbidden);
  if (spec.ipFamilies?.length) problems.forbidden("spec.ipFamilies", forbidden);
  if (spec.ipFamilyPolicy !== undefined) problems.forbidden("spec.ipFamilyPolicy", forbidden);
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (name === "") problems.required("spec.externalName");
  else problems.check("spec.externalName", name, dnsSubdomain(name));
}

function checkPorts(spec: ServiceSpec, problems: FieldProblems): void {
  const ports = spec.ports ?? [];
  const seen = { names: new Set<string>(), nodePorts: new Set<string>(), ports: new Set<string>() };
  for (const [i, port] of ports.entries()) {
    const path = `spec.ports[${i}]`;
    checkPort(port, path, ports.length > 1, seen.names, problems);
    if (port.nodePort) {
      if (spec.type === "ClusterIP")
        problems.forbidden(`${path}.nodePort`, "may not be used when `type` is 'ClusterIP'");
      const key = `${port.protocol}:${port.nodePort}`;
      if (seen.nodePorts.has(key)) problems.duplicate(`${path}.nodePort`, port.nodePort);
      seen.nodePorts.add(key);
    }
    const key = `${port.protocol}:${port.port}`;
    if (seen.ports.has(key)) problems.duplicate(path, { protocol: port.protocol, port: port.port });
    seen.ports.add(key);
  }
}

function checkPort(
  port: ServicePort,
  path: string,
  nameRequired: boolean,
  names: Set<string>,
  problems: FieldProblems,
): void {
  const { name = "", protocol = "", targetPort } = port;
  if (name === "" && nameRequired) problems.required(`${path}.name`);
  if (name !== "") {
    problems.check(`${path}.name`, name, dnsLabel(name));
    if (names.has(name)) problems.duplicate(`${path}.name`, name);
    names.add(name);
  }
  problems.check(`${path}.port`, port.port ?? 0, portNumber(port.port ?? 0));
  problems.oneOf(`${path}.protocol`, protocol, protocols);
  if (typeof targetPort === "string") problems.check(`${path}.targetPort`, targetPort, portName(targetPort));
  else problems.check(`${path}.targetPort`, targetPort ?? 0, portNumber(targetPort ?? 0));
  if (port.appProtocol !== undefined)
    problems.check(`${path}.appProtocol`, port.appProtocol, qualifiedName(port.appProtocol));
}

function checkAffinity(spec: ServiceSpec, problems: FieldProblems): void {
  problems.oneOf("spec.sessionAffinity", spec.sessionAffinity, core.values("ServiceAffinity"));
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (
    spec.sessionAffinity === "ClientIP" &&
    seconds !== undefined &&
    (seconds <= 0 || seconds > maxAffinitySeconds)
  )
    problems.invalid(
      "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
      seconds,
      `must be greater than 0 and less than ${maxAffinitySeconds}`,
    );
}

function checkClusterIps(spec: ServiceSpec, problems: FieldProblems): void {
  const path = "spec.clusterIPs";
  const addresses = spec.clusterIPs ?? [];
  if (spec.clusterIP) {
    if (addresses.length === 0) problems.required(path);
    else if (addresses[0] !== spec.clusterIP)
      problems.invalid(path, addresses, "first value must match `clusterIP`");
  } else if (addresses.length > 0)
    problems.invalid(path, addresses, "must be empty when `clusterIP` is not specified");
  const families = new Set<string>();
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    problems.oneOf(`spec.ipFamilies[${i}]`, family, ["IPv4", "IPv6"]);
    if (families.has(family)) problems.duplicate(`spec.ipFamilies[${i}]`, family);
    families.add(family);
  }
  if (spec.ipFamilyPolicy !== undefined)
    problems.oneOf("spec.ipFamilyPolicy", spec.ipFamilyPolicy, core.values("IPFamilyPolicy"));
  if (isHeadless(spec)) return;
  if (addresses[0] === "None") {
    problems.invalid(path, addresses, "'None' must be the first and only value");
    return;
  }
  if (addresses.length > 2) problems.invalid(path, addresses, "may only hold up to 2 values");
  const validAddresses = addresses.filter((address, i) => checkAddress(`${path}[${i}]`, address, problems));
  if (validAddresses.length < addresses.length) return;
  if (addresses.length > 1 && new Set(addresses.map(familyOf)).size < addresses.length)
    problems.invalid(path, addresses, "may specify no more than one IP for each IP family");
  for (const [i, address] of addresses.entries()) {
    const family = spec.ipFamilies?.[i];
    if (family !== undefined && familyOf(address) !== family)
      problems.invalid(
        `${path}[${i}]`,
        address,
        `expected an ${family} value as indicated by \`ipFamilies[${i}]\``,
      );
  }
}

function checkLoadBalancer(spec: ServiceSpec, problems: FieldProblems): void {
  const balanced = spec.type === "LoadBalancer";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  if (ranges.length > 0 && !balanced) problems.forbidden("spec.LoadBalancerSourceRanges", onlyLoadBalancer);
  for (const [i, range] of ranges.entries())
    checkCidr(`spec.LoadBalancerSourceRanges[${i}]`, range.trim(), problems);
  if (spec.allocateLoadBalancerNodePorts !== undefined && !balanced)
    problems.forbidden("spec.allocateLoadBalancerNodePorts", onlyLoadBalancer);
  if (spec.loadBalancerClass === undefined) return;
  if (!balanced) problems.forbidden("spec.loadBalancerClass", onlyLoadBalancer);
  else
    problems.check("spec.loadBalancerClass", spec.loadBalancerClass, qualifiedName(spec.loadBalancerClass));
}

function checkTraffic(spec: ServiceSpec, problems: FieldProblems): void {
  if (!isExternal(spec)) {
    if (spec.externalTrafficPolicy)
      problems.invalid(
        "spec.externalTrafficPolicy",
        spec.externalTrafficPolicy,
        "may only be set for externally-accessible services",
      );
  } else
    problems.oneOf(
      "spec.externalTrafficPolicy",
      spec.externalTrafficPolicy,
      core.values("ServiceExternalTrafficPolicy"),
    );
  if (spec.healthCheckNodePort) {
    if (!needsHealthCheck(spec))
      problems.invalid(
        "spec.healthCheckNodePort",
        spec.healthCheckNodePort,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      );
    else
      problems.check(
        "spec.healthCheckNodePort",
        spec.healthCheckNodePort,
        portNumber(spec.healthCheckNodePort),
      );
  }
  if (spec.internalTrafficPolicy !== undefined)
    problems.oneOf(
      "spec.internalTrafficPolicy",
      spec.internalTrafficPolicy,
      core.values("ServiceInternalTrafficPolicy"),
    );
  if (spec.trafficDistribution !== undefined)
    problems.oneOf("spec.trafficDistribution", spec.trafficDistribution, [
      "PreferClose",
      "PreferSameZone",
      "PreferSameNode",
    ]);
}

/** Addresses are immutable as long as the service needs them. */
export function checkServiceChange(
  draft: Unstructured,
  oldObject: Readonly<Unstructured>,
  problems: FieldProblems,
): void {
  const spec = specOf(draft);
  const old = specOf(oldObject);
  if (
    spec.type === "LoadBalancer" &&
    old.type === "LoadBalancer" &&
    spec.loadBalancerClass !== old.loadBalancerClass
  )
    problems.invalid("spec.loadBalancerClass", spec.loadBalancerClass, "may not change once set");
  if (spec.type === "ExternalName" || old.type === "ExternalName") return;
  if (isHeadless(spec) && isHeadless(old)) return;
  const [oldAddresses, addresses] = [old.clusterIPs ?? [], spec.clusterIPs ?? []];
  for (const [i, address] of oldAddresses.entries()) {
    if (addresses[i] === address) continue;
    if (addresses.length === 0) {
      problems.invalid("spec.clusterIPs[0]", addresses, "primary clusterIP can not be unset");
      break;
    }
    if (i < addresses.length) problems.invalid(`spec.clusterIPs[${i}]`, addresses, "may not change once set");
  }
}
