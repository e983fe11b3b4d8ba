import { parseQuantity } from "../../lib/model/quantity.ts";
import { formatQuantity } from "../../lib/model/quantity-form.ts";
import { hugepagesName } from "../../lib/model/resources.ts";
import type { DeviceAmounts } from "../resources/devices/device-inventory.ts";
import type { ResourceList } from "./node-types.ts";
import { type ReservationSettings, reservationsOf } from "./reservations.ts";
import { binaryBytes, isExtended, isHugepages } from "./resource-names.ts";

/** The resources of the machine. */
export interface MachineSize {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  readonly hugepages: readonly { readonly pageBytes: bigint; readonly pages: bigint }[];
  /** The size of the filesystem with the root directory; undefined if local storage is not accounted for. */
  readonly storageBytes?: bigint;
}

export interface PodLimits {
  readonly maxPods: number;
  /** 0 for no such limit. */
  readonly podsPerCore: number;
}

export interface CapacityInput {
  /** Undefined if the machine could not be inspected. */
  readonly machine: MachineSize | undefined;
  readonly devices: DeviceAmounts;
  readonly pods: PodLimits;
  readonly reservations: ReservationSettings;
}

export interface Capacity {
  capacity: ResourceList;
  allocatable: ResourceList;
}

/** Capacity and allocatable. Resources that other writers added to the status are kept. */
export function planCapacity(input: CapacityInput, existing: Partial<Capacity>): Capacity {
  const { machine, devices, pods } = input;
  const own = machine ? ofMachine(machine, pods) : { cpu: "0", memory: "0", pods: String(pods.maxPods) };
  const capacity: ResourceList = { ...existing.capacity, ...own };
  if (machine) {
    Object.assign(capacity, devices.capacity);
    for (const name of devices.removed) capacity[name] = "0";
  }
  return { capacity, allocatable: allocatableOf(input, capacity, own, existing.allocatable ?? {}) };
}

/** Resources whose reservations exceed the capacity of the machine. */
export function excessReservations({ machine, pods, reservations }: CapacityInput): string[] {
  if (!machine) return [];
  const { pods: _, ...capacity } = ofMachine(machine, pods);
  return [...reservationsOf(reservations, capacity)]
    .filter(([name, amount]) => amount > (parseQuantity(capacity[name] ?? "0") ?? 0n))
    .map(
      ([name, amount]) =>
        `Resource "${name}" has a reservation of ${formatQuantity(amount, isBytes(name) ? "binary" : "decimal")} ` +
        `but capacity of ${capacity[name]}. Expected capacity >= reservation.`,
    );
}

function ofMachine(machine: MachineSize, { maxPods, podsPerCore }: PodLimits): ResourceList {
  const list: ResourceList = {
    cpu: String(machine.cpus),
    memory: binaryBytes(machine.memoryBytes),
    pods: String(podsPerCore > 0 ? Math.min(machine.cpus * podsPerCore, maxPods) : maxPods),
  };
  if (machine.storageBytes !== undefined) list["ephemeral-storage"] = binaryBytes(machine.storageBytes);
  for (const { pageBytes, pages } of machine.hugepages)
    list[hugepagesName(pageBytes)] = binaryBytes(pageBytes * pages);
  return list;
}

function allocatableOf(
  { devices, machine, reservations }: CapacityInput,
  capacity: ResourceList,
  own: ResourceList,
  existing: ResourceList,
): ResourceList {
  const { pods: _, ...reservable } = own;
  const reserved = reservationsOf(reservations, machine ? reservable : {});
  const allocatable: ResourceList = {};
  for (const [name, text] of Object.entries(existing))
    if (name in capacity || !isExtended(name)) allocatable[name] = text;
  for (const [name, text] of Object.entries(capacity))
    allocatable[name] = subtract(name, text, reserved.get(name) ?? 0n);
  if (machine) Object.assign(allocatable, devices.allocatable);
  // Huge pages are subtracted from memory, used or not.
  for (const [name, text] of Object.entries(capacity))
    if (isHugepages(name))
      allocatable.memory = subtract("memory", allocatable.memory ?? "0", parseQuantity(text) ?? 0n);
  return allocatable;
}

/** The remaining quantity, at least 0. Bytes keep the binary format even without a suffix. */
function subtract(name: string, text: string, nano: bigint): string {
  const left = (parseQuantity(text) ?? 0n) - nano;
  return formatQuantity(left < 0n ? 0n : left, text.endsWith("i") || isBytes(name) ? "binary" : "decimal");
}

function isBytes(name: string): boolean {
  return name === "memory" || name === "ephemeral-storage" || isHugepages(name);
}
