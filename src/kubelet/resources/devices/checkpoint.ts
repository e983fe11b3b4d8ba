import { KubeletError } from "../../../lib/base/errors.ts";
import { apiJson } from "../../../lib/model/container-hash.ts";
import { fnv32a } from "../../../lib/model/fnv.ts";
import type { DevicesByNode } from "./device.ts";

/** The devices of one resource that a container has. */
export interface CheckpointEntry {
  readonly podUID: string;
  readonly container: string;
  readonly resource: string;
  readonly devices: DevicesByNode;
  /** The plugin's response, as protobuf. */
  readonly response: Uint8Array;
}

export interface DeviceCheckpoint {
  readonly entries: readonly CheckpointEntry[];
  /** The healthy devices of each registered resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** The names in the file. */
interface FileEntry {
  PodUID: string;
  ContainerName: string;
  ResourceName: string;
  DeviceIDs: Record<string, string[] | null> | null;
  AllocResp: string | null;
}

interface FileData {
  PodDeviceEntries: FileEntry[] | null;
  RegisteredDevices: Record<string, string[] | null> | null;
}

/** The file as the reference kubelet writes it. */
export function encodeCheckpoint({ entries, registered }: DeviceCheckpoint): string {
  const data: FileData = {
    PodDeviceEntries:
      entries.length === 0
        ? null
        : entries.map(({ podUID, container, resource, devices, response }) => ({
            PodUID: podUID,
            ContainerName: container,
            ResourceName: resource,
            DeviceIDs: Object.fromEntries([...devices].map(([node, ids]) => [String(node), [...ids]])),
            AllocResp: Buffer.from(response).toString("base64"),
          })),
    RegisteredDevices: Object.fromEntries([...registered].map(([name, ids]) => [name, [...ids]])),
  };
  return apiJson({ Data: data, Checksum: checksum(data) });
}

/** Throws if the file is corrupt, or has the format of a version before 1.20. */
export function decodeCheckpoint(text: string): DeviceCheckpoint {
  const { Data: data, Checksum: expected } = parsed(text);
  if (!isFileData(data) || checksum(data) !== expected) throw corrupt();
  return {
    entries: (data.PodDeviceEntries ?? []).map((entry) => ({
      podUID: entry.PodUID,
      container: entry.ContainerName,
      resource: entry.ResourceName,
      devices: new Map(
        Object.entries(entry.DeviceIDs ?? {}).map(([node, ids]) => [Number(node), ids ?? []] as const),
      ),
      response: Buffer.from(entry.AllocResp ?? "", "base64"),
    })),
    registered: new Map(
      Object.entries(data.RegisteredDevices ?? {}).map(([name, ids]) => [name, ids ?? []] as const),
    ),
  };
}

function parsed(text: string): { Data?: unknown; Checksum?: unknown } {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw corrupt();
  return value;
}

function corrupt(): KubeletError {
  return new KubeletError("CorruptCheckpoint", "checkpoint is corrupted");
}

function isFileData(value: unknown): value is FileData {
  if (!isRecord(value)) return false;
  const { PodDeviceEntries: entries, RegisteredDevices: registered } = value;
  return (
    (entries === null || (Array.isArray(entries) && entries.every(isFileEntry))) &&
    (registered === null || isLists(registered))
  );
}

function isFileEntry(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp } = value;
  return (
    [PodUID, ContainerName, ResourceName].every((text) => typeof text === "string") &&
    (DeviceIDs === null ||
      (isLists(DeviceIDs) && Object.keys(DeviceIDs as object).every((key) => /^-?\d+$/.test(key)))) &&
    (AllocResp === null || typeof AllocResp === "string")
  );
}

function isLists(value: unknown): boolean {
  return (
    isRecord(value) &&
    Object.values(value).every(
      (list) => list === null || (Array.isArray(list) && list.every((id) => typeof id === "string")),
    )
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The checksum of the data with its Go type names, as the reference kubelet prints it. */
function checksum({ PodDeviceEntries: entries, RegisteredDevices: registered }: FileData): number {
  const printed = entries?.map(
    (e) =>
      `{PodUID:(string)${e.PodUID} ContainerName:(string)${e.ContainerName} ResourceName:(string)${e.ResourceName} ` +
      `DeviceIDs:(checkpoint.DevicesPerNUMA)${lists(e.DeviceIDs, byNumber)} AllocResp:([]uint8)${bytes(e.AllocResp)}}`,
  );
  return fnv32a(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${list(printed)} ` +
      `RegisteredDevices:(map[string][]string)${lists(registered, byBytes)}}`,
  );
}

function lists(
  value: Readonly<Record<string, string[] | null>> | null,
  order: (a: string, b: string) => number,
): string {
  if (value === null) return "<nil>";
  const keys = Object.keys(value).sort(order);
  return `map[${keys.map((key) => `${key}:${list(value[key])}`).join(" ")}]`;
}

function list(items: readonly string[] | null | undefined): string {
  return items ? `[${items.join(" ")}]` : "<nil>";
}

function bytes(base64: string | null): string {
  return base64 === null ? "<nil>" : `[${[...Buffer.from(base64, "base64")].join(" ")}]`;
}

function byNumber(a: string, b: string): number {
  return Number(a) - Number(b);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
