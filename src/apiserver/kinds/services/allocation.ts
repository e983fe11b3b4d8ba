import type { RequestContext, Unstructured } from "../../definition.ts";
import { invalid } from "../../rest/problems.ts";
import type { ApiObject } from "../../storage/object.ts";
import { familyOf } from "../addresses.ts";
import { protocols } from "../endpoints.ts";
import { AddressRange } from "./address-range.ts";
import {
  isHeadless,
  needsClusterIp,
  needsHealthCheck,
  needsNodePorts,
  type ServiceSpec,
  specOf,
} from "./service.ts";

export interface AllocationOptions {
  /** Addresses of services: "10.96.0.0/16". */
  readonly clusterIpRange: string;
  readonly nodePorts: { readonly first: number; readonly last: number };
  /** 0 to 1, to spread addresses and ports. */
  readonly random: () => number;
}

/** The longest time of a request between its reservation and its write. */
const reservationMs = 60_000;

type Holder = "this service" | "another";
type InUse = Map<string, Holder>;

/**
 * Allocates addresses and ports of services. What a stored service has is in use. What a request has that is not stored yet is reserved, so
 * that two concurrent requests do not get the same.
 */
export class ServiceAllocation {
  readonly range: AddressRange;
  readonly #options: AllocationOptions;
  readonly #reserved = new Map<string, { readonly until: number; readonly owner: string }>();

  constructor(options: AllocationOptions) {
    this.#options = options;
    this.range = new AddressRange(options.clusterIpRange);
  }

  /** Allocates what the service needs and did not request; rejects requested addresses that are in use. */
  async allocate(
    draft: Unstructured,
    context: RequestContext,
    oldObject?: Readonly<Unstructured>,
  ): Promise<void> {
    const services = await context.objects.list("services");
    // No await below: an allocation must be reserved before the next one starts.
    const inUse = this.#inUse(draft, services, context.now);
    // The service keeps what it has, even if the ranges have changed.
    const ownValues = new Set(oldObject === undefined ? [] : valuesOf(specOf(oldObject)));
    const spec = specOf(draft);
    if (needsClusterIp(spec)) this.#address(draft, spec, inUse, ownValues);
    if (needsNodePorts(spec)) this.#ports(draft, spec, inUse, ownValues);
    if (needsHealthCheck(spec))
      spec.healthCheckNodePort ||= this.#freePort(inUse, draft, "spec.healthCheckNodePort");
    if (context.dryRun) return;
    const reservation = { until: context.now + reservationMs, owner: ownerOf(draft) };
    for (const value of valuesOf(spec)) if (!ownValues.has(value)) this.#reserved.set(value, reservation);
  }

  #inUse(draft: Unstructured, services: readonly ApiObject[], now: number): InUse {
    const inUse = new Map<string, Holder>();
    for (const [value, { until, owner }] of this.#reserved) {
      if (until <= now) this.#reserved.delete(value);
      // A client that retries may request what was allocated the last time.
      else inUse.set(value, owner === ownerOf(draft) ? "this service" : "another");
    }
    for (const service of services) {
      const { name, namespace } = service.metadata;
      if (name === draft.metadata.name && namespace === draft.metadata.namespace) continue;
      for (const value of valuesOf(specOf(service))) inUse.set(value, "another");
    }
    return inUse;
  }

  #address(draft: Unstructured, spec: ServiceSpec, inUse: InUse, ownValues: ReadonlySet<string>): void {
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
    for (const [i, family] of (spec.ipFamilies ?? []).entries())
      if (family === "IPv6")
        throw invalidField(draft, `spec.ipFamilies[${i}]`, family, "not configured on this cluster");
    if (spec.ipFamilyPolicy === "RequireDualStack")
      throw invalidField(
        draft,
        "spec.ipFamilyPolicy",
        spec.ipFamilyPolicy,
        "this cluster is not configured for dual-stack services",
      );
    spec.ipFamilies ??= ["IPv4"];
    spec.ipFamilyPolicy ??= "SingleStack";
    if (isHeadless(spec)) return;
    const requested = spec.clusterIPs?.[0];
    if (requested === undefined) {
      const address = this.range.free(inUse, this.#options.random());
      if (address === undefined)
        throw invalidField(draft, "spec.clusterIPs", [], "failed to allocate IP: range is full");
      spec.clusterIP = address;
      spec.clusterIPs = [address];
      return;
    }
    // Invalid addresses are reported by validation.
    if (familyOf(requested) !== "IPv4" || ownValues.has(requested)) return;
    if (inUse.get(requested) === "another")
      throw invalidField(
        draft,
        "spec.clusterIPs",
        spec.clusterIPs,
        `failed to allocate IP ${requested}: provided IP is already allocated`,
      );
    if (!this.range.has(requested))
      throw invalidField(
        draft,
        "spec.clusterIPs",
        spec.clusterIPs,
        `failed to allocate IP ${requested}: the provided IP (${requested}) is not in the valid range. The range of valid IPs is ${this.range.cidr}`,
      );
  }

  #ports(draft: Unstructured, spec: ServiceSpec, inUse: InUse, ownValues: ReadonlySet<string>): void {
    const byPort = new Map<number, number>();
    for (const [i, port] of (spec.ports ?? []).entries()) {
      const path = `spec.ports[${i}].nodePort`;
      const protocol = port.protocol ?? "TCP";
      // The same port for TCP and UDP is reached at the same port of the node.
      if (!port.nodePort) port.nodePort = byPort.get(port.port) ?? this.#freePort(inUse, draft, path);
      else if (!ownValues.has(portKey(protocol, port.nodePort)))
        this.#checkPort(draft, path, protocol, port.nodePort, inUse);
      byPort.set(port.port, port.nodePort);
    }
  }

  #checkPort(draft: Unstructured, path: string, protocol: string, port: number, inUse: InUse): void {
    const { first, last } = this.#options.nodePorts;
    if (port < first || port > last)
      throw invalidField(
        draft,
        path,
        port,
        `provided port is not in the valid range. The range of valid ports is ${first}-${last}`,
      );
    if (inUse.get(portKey(protocol, port)) === "another")
      throw invalidField(draft, path, port, "provided port is already allocated");
  }

  /** Free for all protocols, so that the service can use it for another protocol as well. */
  #freePort(inUse: InUse, draft: Unstructured, path: string): number {
    const { first, last } = this.#options.nodePorts;
    const size = last - first + 1;
    const start = Math.floor(this.#options.random() * size);
    for (let i = 0; i < size; i++) {
      const port = first + ((start + i) % size);
      const keys = protocols.map((protocol) => portKey(protocol, port));
      if (keys.some((key) => inUse.has(key))) continue;
      for (const key of keys) inUse.set(key, "this service");
      return port;
    }
    throw invalidField(draft, path, 0, "failed to allocate a nodePort: range is full");
  }
}

function portKey(protocol: string, port: number): string {
  return `${protocol}:${port}`;
}

function ownerOf({ metadata }: Unstructured): string {
  return `${metadata.namespace}/${metadata.name || metadata.generateName}`;
}

/** The addresses and ports of a service. */
function valuesOf(spec: ServiceSpec): string[] {
  return [
    ...(spec.clusterIPs ?? []).filter((address) => address !== "None"),
    ...(spec.ports ?? []).flatMap(({ protocol = "TCP", nodePort }) =>
      nodePort ? [portKey(protocol, nodePort)] : [],
    ),
    ...(spec.healthCheckNodePort ? [portKey("TCP", spec.healthCheckNodePort)] : []),
  ];
}

function invalidField(draft: Unstructured, path: string, value: unknown, detail: string): Error {
  const message = `Invalid value: ${JSON.stringify(value)}: ${detail}`;
  return invalid({ group: "", kind: "Service" }, draft.metadata.name, [{ path, message }]);
}
