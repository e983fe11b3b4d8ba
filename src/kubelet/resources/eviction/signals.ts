import type { PressureCondition } from "../../state/node-pressure.ts";

export type Resource = "memory" | "ephemeral-storage" | "inodes" | "pids";

interface SignalInfo {
  readonly resource: Resource;
  readonly condition: PressureCondition;
}

const memory: SignalInfo = { resource: "memory", condition: "MemoryPressure" };
const disk: SignalInfo = { resource: "ephemeral-storage", condition: "DiskPressure" };
const inodes: SignalInfo = { resource: "inodes", condition: "DiskPressure" };

/** The resources that can be low on a node, the condition that each causes, and the resource that is reclaimed. */
export const signals = {
  "memory.available": memory,
  "allocatableMemory.available": memory,
  "nodefs.available": disk,
  "nodefs.inodesFree": inodes,
  "imagefs.available": disk,
  "imagefs.inodesFree": inodes,
  "containerfs.available": disk,
  "containerfs.inodesFree": inodes,
  "pid.available": { resource: "pids", condition: "PIDPressure" },
} as const satisfies Record<string, SignalInfo>;

export type Signal = keyof typeof signals;

export function resourceOf(signal: Signal): Resource {
  return signals[signal].resource;
}

export function conditionOf(signal: Signal): PressureCondition {
  return signals[signal].condition;
}

/** How much of something is left: bytes, inodes or process IDs. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

interface Space {
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
}

export interface Memory {
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
}

/** The usage of the node, as measured in one pass; what could not be measured is absent. */
export interface NodeUsage {
  readonly memory?: Memory | undefined;
  /** The memory of the cgroup of all pods; without a limit it has no available memory. */
  readonly pods?: Memory | undefined;
  readonly nodeFs?: Space | undefined;
  readonly imageFs?: Space | undefined;
  readonly containerFs?: Space | undefined;
  readonly tasks?: { readonly max?: number; readonly running?: number } | undefined;
}

export function observationsOf(usage: NodeUsage): Observations {
  const found = new Map<Signal, Observation>();
  const add = (signal: Signal, available: number | undefined, capacity: number | undefined) => {
    if (available !== undefined && capacity !== undefined) found.set(signal, { available, capacity });
  };
  const addMemory = (signal: Signal, { availableBytes: free, workingSetBytes: used }: Memory = {}) =>
    add(signal, free, free === undefined || used === undefined ? undefined : free + used);
  const addSpace = (name: "nodefs" | "imagefs" | "containerfs", space: Space = {}) => {
    add(`${name}.available`, space.availableBytes, space.capacityBytes);
    add(`${name}.inodesFree`, space.inodesFree, space.inodes);
  };
  addMemory("memory.available", usage.memory);
  addMemory("allocatableMemory.available", usage.pods);
  addSpace("nodefs", usage.nodeFs);
  addSpace("imagefs", usage.imageFs);
  addSpace("containerfs", usage.containerFs);
  const { max, running } = usage.tasks ?? {};
  add("pid.available", max === undefined || running === undefined ? undefined : max - running, max);
  return found;
}
