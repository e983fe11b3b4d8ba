import type {
  AllocationResult,
  Device,
  DeviceClass,
  DeviceRequestAllocationResult,
  DeviceSelector,
  ExactDeviceRequest,
  ResourceClaimSpec,
  ResourceSlice,
} from "../../../lib/gen/kubernetes/resource.d.ts";
import { matchesTerms } from "../../../lib/model/node-selector.ts";

export interface NodeName {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Inventory {
  readonly slices: readonly ResourceSlice[];
  readonly classes: ReadonlyMap<string, DeviceClass>;
  /** Devices that claims have; see `deviceKey`. */
  readonly used: ReadonlySet<string>;
}

/** A claim that cannot be allocated: `isUnsupported` if it never can be here. */
export interface AllocationFailure {
  readonly reason: string;
  readonly isUnsupported: boolean;
}

export type Allocated = { readonly allocation: AllocationResult } | { readonly failure: AllocationFailure };

interface Candidate {
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
}

/** The only selectors that are evaluated: there is no CEL here. */
const driverSelector = /^\s*device\.driver\s*==\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*$/;

export function deviceKey({
  driver,
  pool,
  device,
}: {
  driver: string;
  pool: string;
  device: string;
}): string {
  return `${driver}/${pool}/${device}`;
}

/** Allocates devices of one node to a claim. */
export function allocate(spec: ResourceClaimSpec, node: NodeName, inventory: Inventory): Allocated {
  const { requests = [], constraints, config = [] } = spec.devices ?? {};
  if (constraints?.length) return unsupported("constraints");
  const used = new Set(inventory.used);
  const results: DeviceRequestAllocationResult[] = [];
  const configs = [];
  for (const { name, exactly } of requests) {
    if (!exactly) return unsupported(`firstAvailable of request ${name}`);
    const chosen = chooseDevices(name, exactly, node, { ...inventory, used });
    if ("failure" in chosen) return chosen;
    for (const { driver, pool, device } of chosen.devices) {
      const { adminAccess } = exactly;
      results.push({ request: name, driver, pool, device: device.name, ...(adminAccess && { adminAccess }) });
      if (!adminAccess) used.add(deviceKey({ driver, pool, device: device.name }));
    }
    for (const { opaque } of inventory.classes.get(exactly.deviceClassName)?.spec.config ?? [])
      configs.push({ source: "FromClass" as const, requests: [name], ...(opaque && { opaque }) });
  }
  for (const one of config) configs.push({ source: "FromClaim" as const, ...one });
  return {
    allocation: {
      devices: { results, ...(configs.length > 0 && { config: configs }) },
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node.name] }] }],
      },
    },
  };
}

function chooseDevices(
  name: string,
  request: ExactDeviceRequest,
  node: NodeName,
  { slices, classes, used }: Inventory,
): { readonly devices: readonly Candidate[] } | { readonly failure: AllocationFailure } {
  const { deviceClassName, selectors = [], allocationMode, count = 1, adminAccess, capacity } = request;
  if (capacity) return unsupported(`capacity of request ${name}`);
  const deviceClass = classes.get(deviceClassName);
  if (!deviceClass) return failed(`device class ${deviceClassName} does not exist`);
  const drivers = driversOf([...(deviceClass.spec.selectors ?? []), ...selectors]);
  if (drivers === undefined)
    return unsupported(`selectors of request ${name}: only \`device.driver == "<name>"\` is evaluated`);
  const matching = devicesOn(node, slices).filter(({ driver }) => drivers.every((one) => one === driver));
  const isFree = ({ driver, pool, device }: Candidate) =>
    adminAccess === true || !used.has(deviceKey({ driver, pool, device: device.name }));
  const free = matching.filter(isFree);
  if (allocationMode === "All") {
    if (matching.length > 0 && free.length === matching.length) return { devices: free };
    return failed(`request ${name}: ${free.length} of ${matching.length} devices are available, needs all`);
  }
  if (free.length >= count) return { devices: free.slice(0, count) };
  return failed(
    `request ${name}: needs ${count} devices of class ${deviceClassName}, ${free.length} available`,
  );
}

/** The drivers that the selectors require; undefined if one of them is anything else. */
function driversOf(selectors: readonly DeviceSelector[]): string[] | undefined {
  const drivers: string[] = [];
  for (const { cel } of selectors) {
    const found = driverSelector.exec(cel?.expression ?? "");
    if (!found) return undefined;
    drivers.push(found[1] ?? found[2] ?? "");
  }
  return drivers;
}

/** The devices that can be allocated on a node: of complete pools, in their newest generation. */
function devicesOn(node: NodeName, slices: readonly ResourceSlice[]): Candidate[] {
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
  return [...pools.values()].flatMap((all) => {
    const generation = Math.max(...all.map(({ spec }) => spec.pool.generation));
    const newest = all.filter(({ spec }) => spec.pool.generation === generation);
    if (newest.length < (newest[0]?.spec.pool.resourceSliceCount ?? 1)) return [];
    return newest.flatMap(({ spec }) =>
      (spec.devices ?? [])
        .filter((device) => isOn(node, spec.perDeviceNodeSelection ? device : spec) && isSimple(device))
        .map((device) => ({ driver: spec.driver, pool: spec.pool.name, device })),
    );
  });
}

function isOn(node: NodeName, where: Pick<Device, "nodeName" | "nodeSelector" | "allNodes">): boolean {
  if (where.allNodes || where.nodeName === node.name) return true;
  return where.nodeSelector !== undefined && matchesTerms(where.nodeSelector.nodeSelectorTerms, node);
}

/** Tainted devices, and those that need more than one claim's bookkeeping, are not allocated here. */
function isSimple({
  taints,
  consumesCounters,
  bindingConditions,
  allowMultipleAllocations,
}: Device): boolean {
  return (
    !taints?.some(({ effect }) => effect !== "None") &&
    !consumesCounters?.length &&
    !bindingConditions?.length &&
    !allowMultipleAllocations
  );
}

function failed(reason: string) {
  return { failure: { reason, isUnsupported: false } };
}

function unsupported(what: string) {
  return { failure: { reason: `not supported by this API server: ${what}`, isUnsupported: true } };
}
