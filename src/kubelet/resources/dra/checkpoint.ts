import { crc32 } from "node:zlib";
import { KubeletError } from "../../../lib/base/errors.ts";
import { isObject } from "../../../lib/base/json-value.ts";
import { apiJson } from "../../../lib/model/container-hash.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ClaimState, PreparedDevice } from "./claim-state.ts";

const kind = "DRACheckpoint";
const apiVersion = "checkpoint.dra.kubelet.k8s.io/v1";

interface StoredDevice {
  PoolName: string;
  DeviceName: string;
  ShareID: string | null;
  RequestNames: readonly string[] | null;
  CDIDeviceIDs: readonly string[] | null;
}

interface StoredClaim {
  ClaimUID: string;
  ClaimName: string;
  Namespace: string;
  PodUIDs: Record<string, object> | null;
  DriverState: Record<string, { Devices: StoredDevice[] | null }> | null;
}

/** The file as the reference kubelet writes it: the claims as JSON in a string, and the CRC-32 of that string. */
export function encodeCheckpoint(claims: Iterable<ClaimState>): string {
  const list = [...claims].map(storedClaim).sort((a, b) => compare(keyOf(a), keyOf(b)));
  const Data = apiJson({ kind, apiVersion, ClaimInfoStateList: list });
  return apiJson({ Data, Checksum: crc32(Data) });
}

export function decodeCheckpoint(text: string): ClaimState[] {
  const { Data, Checksum } = parsed(text) as { Data?: unknown; Checksum?: unknown };
  if (typeof Data !== "string" || crc32(Data) !== Checksum) throw corrupted();
  const { ClaimInfoStateList: claims } = parsed(Data) as { ClaimInfoStateList?: unknown };
  if (claims == null) return [];
  if (!Array.isArray(claims) || !claims.every(isStoredClaim)) throw corrupted();
  return claims.map(claimOf);
}

function storedClaim({ uid, name, namespace, pods, drivers }: ClaimState): StoredClaim {
  return {
    ClaimUID: uid,
    ClaimName: name,
    Namespace: namespace,
    PodUIDs: Object.fromEntries([...pods].sort(compare).map((pod) => [pod, {}])),
    DriverState: Object.fromEntries(
      [...drivers]
        .sort(([a], [b]) => compare(a, b))
        .map(([driver, { devices }]) => [
          driver,
          { Devices: devices.length > 0 ? devices.map(storedDevice) : null },
        ]),
    ),
  };
}

function storedDevice(device: PreparedDevice): StoredDevice {
  return {
    PoolName: device.poolName,
    DeviceName: device.deviceName,
    ShareID: device.shareId ?? null,
    RequestNames: orNull(device.requestNames),
    CDIDeviceIDs: orNull(device.cdiDeviceIds),
  };
}

function claimOf({ ClaimUID, ClaimName, Namespace, PodUIDs, DriverState }: StoredClaim): ClaimState {
  return {
    uid: ClaimUID,
    name: ClaimName,
    namespace: Namespace,
    pods: new Set(Object.keys(PodUIDs ?? {}) as PodUid[]),
    drivers: new Map(
      Object.entries(DriverState ?? {}).map(([driver, { Devices }]) => [
        driver,
        { devices: (Devices ?? []).map(deviceOf), isPrepared: false },
      ]),
    ),
  };
}

function deviceOf({
  PoolName,
  DeviceName,
  ShareID,
  RequestNames,
  CDIDeviceIDs,
}: StoredDevice): PreparedDevice {
  return {
    poolName: PoolName,
    deviceName: DeviceName,
    ...(ShareID != null && { shareId: ShareID }),
    requestNames: RequestNames ?? [],
    cdiDeviceIds: CDIDeviceIDs ?? [],
  };
}

/** The checksum proves only that the file was not changed after it was written. */
function isStoredClaim(value: unknown): value is StoredClaim {
  if (!isObject(value)) return false;
  const { ClaimUID, ClaimName, Namespace, PodUIDs, DriverState } = value;
  const drivers = DriverState == null ? [] : isObject(DriverState) ? Object.values(DriverState) : [undefined];
  return (
    [ClaimUID, ClaimName, Namespace].every((text) => typeof text === "string") &&
    (PodUIDs == null || isObject(PodUIDs)) &&
    drivers.every((driver) => isObject(driver) && isListOf(driver.Devices, isStoredDevice))
  );
}

function isStoredDevice(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { PoolName, DeviceName, ShareID, RequestNames, CDIDeviceIDs } = value;
  return (
    [PoolName, DeviceName, ShareID ?? ""].every((text) => typeof text === "string") &&
    [RequestNames, CDIDeviceIDs].every((list) => isListOf(list, (text) => typeof text === "string"))
  );
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return value == null || (Array.isArray(value) && value.every(isItem));
}

/** Go writes an empty list of a protobuf message as null. */
function orNull(list: readonly string[]): readonly string[] | null {
  return list.length > 0 ? list : null;
}

function keyOf({ Namespace, ClaimName }: StoredClaim): string {
  return `${Namespace}/${ClaimName}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function parsed(text: string): object {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null) return value;
  throw corrupted();
}

function corrupted(): KubeletError {
  return new KubeletError("CorruptCheckpoint", "checkpoint is corrupted");
}
