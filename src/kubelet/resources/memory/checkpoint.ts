import { KubeletError } from "../../../lib/base/errors.ts";
import { isObject } from "../../../lib/base/json-value.ts";
import { fnv32a } from "../../../lib/model/fnv.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { MachineMemory, MemoryBlock } from "./machine-memory.ts";

/** The memory of containers, by pod and container name. */
export type Assignments = ReadonlyMap<PodUid, ReadonlyMap<string, readonly MemoryBlock[]>>;

export interface MemoryState {
  readonly policy: string;
  /** Empty with the policy None. */
  readonly machine: MachineMemory;
  readonly assignments: Assignments;
  /** The memory of pods with pod-level resources. Undefined without PodLevelResourceManagers. */
  readonly podAssignments?: ReadonlyMap<PodUid, readonly MemoryBlock[]>;
}

interface FileTable {
  total: number;
  systemReserved: number;
  allocatable: number;
  reserved: number;
  free: number;
}

interface FileNode {
  numberOfAssignments: number;
  memoryMap: Record<string, FileTable> | null;
  cells: number[] | null;
}

interface FileBlock {
  numaAffinity: number[] | null;
  type: string;
  size: number;
}

interface FilePod {
  memoryBlocks?: FileBlock[] | null;
}

interface File {
  policyName: string;
  machineState: Record<string, FileNode>;
  entries?: Record<string, Record<string, FileBlock[]>>;
  podEntries?: Record<string, FilePod> | undefined;
  checksum: number;
}

/** The file as the reference kubelet writes it: its second format if there is memory of pods, otherwise its first. */
export function encodeCheckpoint({ policy, machine, assignments, podAssignments }: MemoryState): string {
  const machineState = Object.fromEntries(
    [...machine].map(([id, { assignments: count, tables, group }]): [number, FileNode] => [
      id,
      {
        numberOfAssignments: count,
        memoryMap: Object.fromEntries(
          byName(tables).map(([resource, t]) => [
            resource,
            {
              total: Number(t.total),
              systemReserved: Number(t.systemReserved),
              allocatable: Number(t.allocatable),
              reserved: Number(t.reserved),
              free: Number(t.free),
            },
          ]),
        ),
        cells: [...group],
      },
    ]),
  );
  const entries = Object.fromEntries(
    byName(assignments).map(([uid, containers]) => [
      uid,
      Object.fromEntries(byName(containers).map(([name, blocks]) => [name, blocks.map(fileBlock)])),
    ]),
  );
  const podEntries =
    podAssignments &&
    Object.fromEntries(
      byName(podAssignments).map(([uid, blocks]) => [uid, { memoryBlocks: blocks.map(fileBlock) }]),
    );
  const checksum = checksums({ policyName: policy, machineState, entries, podEntries })[0];
  return JSON.stringify({
    policyName: policy,
    machineState,
    ...(assignments.size > 0 && { entries }),
    ...(podAssignments && podAssignments.size > 0 && { podEntries }),
    checksum,
  });
}

function fileBlock({ nodes, resource, bytes }: MemoryBlock): FileBlock {
  return { numaAffinity: [...nodes], type: resource, size: Number(bytes) };
}

/**
 * Throws if the file is not a checkpoint, or its checksum is wrong. With `podLevel`, the file may have the memory of pods; otherwise such a
 * file is corrupt, as for the reference kubelet.
 */
export function decodeCheckpoint(text: string, podLevel = false): MemoryState {
  const file = parsed(text);
  const entries = file.entries ?? {};
  const machineState = file.machineState ?? {};
  const { policyName = "", checksum = 0 } = file;
  const podEntries = file.podEntries ?? {};
  const hasPodEntries =
    podLevel && checksums({ policyName, machineState, entries, podEntries })[0] === checksum;
  // The reference kubelet accepts files without a checksum, which older versions wrote.
  if (
    !hasPodEntries &&
    checksum !== 0 &&
    !checksums({ policyName, machineState, entries }).includes(checksum)
  )
    throw corrupt();
  return {
    policy: policyName,
    machine: new Map(
      Object.entries(machineState).map(([id, node]) => [
        Number(id),
        {
          assignments: node.numberOfAssignments ?? 0,
          tables: new Map(
            Object.entries(node.memoryMap ?? {}).map(([name, table]) => [name, tableOf(table)]),
          ),
          group: node.cells ?? [],
        },
      ]),
    ),
    assignments: new Map(
      Object.entries(entries).map(([uid, containers]) => [
        uid as PodUid,
        new Map(
          Object.entries(containers ?? {}).map(([name, blocks]) => [name, (blocks ?? []).map(blockOf)]),
        ),
      ]),
    ),
    ...(podLevel && {
      podAssignments: new Map(
        Object.entries(hasPodEntries ? podEntries : {}).map(([uid, { memoryBlocks }]) => [
          uid as PodUid,
          (memoryBlocks ?? []).map(blockOf),
        ]),
      ),
    }),
  };
}

function tableOf({ total, systemReserved, allocatable, reserved, free }: FileTable) {
  return {
    total: BigInt(total ?? 0),
    systemReserved: BigInt(systemReserved ?? 0),
    allocatable: BigInt(allocatable ?? 0),
    reserved: BigInt(reserved ?? 0),
    free: BigInt(free ?? 0),
  };
}

function blockOf({ numaAffinity, type, size }: FileBlock): MemoryBlock {
  return { nodes: numaAffinity ?? [], resource: type ?? "", bytes: BigInt(size ?? 0) };
}

function parsed(text: string): Partial<File> {
  const value: unknown = JSON.parse(text);
  if (isFile(value)) return value;
  throw corrupt();
}

/** True for an object whose fields have the types of a checkpoint, or are missing. */
function isFile(value: unknown): value is Partial<File> {
  if (!isObject(value)) return false;
  const { policyName = "", checksum = 0, machineState, entries, podEntries } = value;
  return (
    typeof policyName === "string" &&
    isCount(checksum) &&
    isMapOf(machineState, isFileNode) &&
    Object.keys(machineState ?? {}).every((id) => /^\d{1,9}$/.test(id)) &&
    isMapOf(entries, (containers) => isMapOf(containers, (blocks) => isListOf(blocks, isFileBlock))) &&
    isMapOf(podEntries, (pod) => isObject(pod) && isListOf(pod.memoryBlocks, isFileBlock))
  );
}

function isFileNode(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { numberOfAssignments = 0, memoryMap, cells } = value;
  const isTable = (table: unknown) =>
    isObject(table) && tableFields.every((name) => isCount(table[name] ?? 0));
  return isCount(numberOfAssignments) && isMapOf(memoryMap, isTable) && isListOf(cells, isCount);
}

function isFileBlock(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { numaAffinity, type = "", size = 0 } = value;
  return isListOf(numaAffinity, isCount) && typeof type === "string" && isCount(size);
}

const tableFields = ["total", "systemReserved", "allocatable", "reserved", "free"] as const;

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function isMapOf(
  value: unknown,
  isItem: (item: unknown) => boolean,
): value is Readonly<Record<string, unknown>> | null | undefined {
  return value === undefined || value === null || (isObject(value) && Object.values(value).every(isItem));
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.every(isItem));
}

function corrupt(): KubeletError {
  return new KubeletError("CorruptCheckpoint", "checkpoint is corrupted");
}

type Checked = Required<Pick<File, "policyName" | "machineState" | "entries">> & Pick<File, "podEntries">;

/** Checksums of the file as the reference kubelet prints the structure to hash it; new files have the first. */
function checksums(file: Checked): number[] {
  return ["MemoryManagerCheckpoint", "MemoryManagerCheckpointV1"].map((type) => fnv32a(printed(file, type)));
}

function printed({ policyName, machineState, entries, podEntries }: Checked, type: string): string {
  const machine = Object.entries(machineState)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([id, { numberOfAssignments = 0, memoryMap, cells }]) => {
      const tables = memoryMap && Object.entries(memoryMap).sort(byKey).map(printedTable);
      const map = tables ? `map[${tables.join(" ")}]` : "<nil>";
      return `${id}:<*>{NumberOfAssignments:(int)${numberOfAssignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${map} Cells:${printedInts(cells)}}`;
    });
  const pods = Object.entries(entries)
    .sort(byKey)
    .map(([uid, containers]) => {
      const lists = Object.entries(containers)
        .sort(byKey)
        .map(([name, blocks]) => `${name}:${printedBlocks(blocks)}`);
      return `${uid}:map[${lists.join(" ")}]`;
    });
  const ofPods = Object.entries(podEntries ?? {})
    .sort(byKey)
    .map(([uid, { memoryBlocks }]) => {
      const blocks = memoryBlocks ? printedBlocks(memoryBlocks) : "<nil>";
      return `${uid}:{MemoryBlocks:([]state.Block)${blocks}}`;
    });
  const podField = podEntries ? ` PodEntries:(state.PodMemoryAssignments)map[${ofPods.join(" ")}]` : "";
  return `(*state.${type}){PolicyName:(string)${policyName} MachineState:(state.NUMANodeMap)map[${machine.join(" ")}] Entries:(state.ContainerMemoryAssignments)map[${pods.join(" ")}]${podField} Checksum:(checksum.Checksum)0}`;
}

function printedTable([resource, t]: [string, FileTable]): string {
  return `${resource}:<*>{TotalMemSize:(uint64)${t.total} SystemReserved:(uint64)${t.systemReserved} Allocatable:(uint64)${t.allocatable} Reserved:(uint64)${t.reserved} Free:(uint64)${t.free}}`;
}

function printedBlocks(blocks: readonly FileBlock[]): string {
  return `[${blocks.map(printedBlock).join(" ")}]`;
}

function printedBlock({ numaAffinity, type, size }: FileBlock): string {
  return `{NUMAAffinity:${printedInts(numaAffinity)} Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}

function printedInts(numbers: readonly number[] | null | undefined): string {
  return `([]int)${numbers ? `[${numbers.join(" ")}]` : "<nil>"}`;
}

function byName<K extends string, V>(map: ReadonlyMap<K, V>): [K, V][] {
  return [...map].sort(byKey);
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
