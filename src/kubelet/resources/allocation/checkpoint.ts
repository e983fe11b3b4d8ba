import { KubeletError } from "../../../lib/base/errors.ts";
import { apiJson } from "../../../lib/model/container-hash.ts";
import { fnv32a } from "../../../lib/model/fnv.ts";
import type { PodUid, ResourceRequirements } from "../../../lib/model/pod.ts";

/** The resources of a pod: by container name, and at pod level if its spec has them. */
export interface PodResourceInfo {
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  readonly pod?: ResourceRequirements | undefined;
}

export type PodResourceInfos = ReadonlyMap<PodUid, PodResourceInfo>;

interface Entry {
  ContainerResources: Record<string, ResourceRequirements> | null;
  PodLevelResources: ResourceRequirements | null;
}

/** The file as the reference kubelet writes it: entries as JSON in a string, and the checksum of that string. */
export function encodeCheckpoint(infos: PodResourceInfos): string {
  const entries = sorted(infos).map(([uid, info]) => `${apiJson(uid)}:${encodeEntry(info)}`);
  const data = entries.length > 0 ? `{"entries":{${entries.join(",")}}}` : "{}";
  return apiJson({ data, checksum: checksum(data) });
}

/** The file has all pods, and is written for each one that starts: most entries are the same as in the previous file. */
const encodedEntries = new WeakMap<PodResourceInfo, string>();

function encodeEntry(info: PodResourceInfo): string {
  const known = encodedEntries.get(info);
  if (known !== undefined) return known;
  const entry: Entry = {
    ContainerResources: Object.fromEntries(sorted(info.containers).map(([k, r]) => [k, written(r)])),
    PodLevelResources: info.pod ? written(info.pod) : null,
  };
  const text = apiJson(entry);
  encodedEntries.set(info, text);
  return text;
}

export function decodeCheckpoint(text: string): Map<PodUid, PodResourceInfo> {
  const { data, checksum: expected } = parsed(text) as { data?: unknown; checksum?: unknown };
  if (typeof data !== "string" || checksum(data) !== expected)
    throw new KubeletError("CorruptCheckpoint", "checkpoint is corrupted");
  const { entries = {} } = parsed(data) as { entries?: Record<string, Partial<Entry>> };
  return new Map(
    Object.entries(entries ?? {}).map(([uid, { ContainerResources, PodLevelResources }]) => [
      uid as PodUid,
      {
        containers: new Map(Object.entries(ContainerResources ?? {})),
        ...(PodLevelResources ? { pod: PodLevelResources } : {}),
      },
    ]),
  );
}

/** The checksum of a string, hashed with the name of its type before it. */
function checksum(data: string): number {
  return fnv32a(`(string)${data}`);
}

function parsed(text: string): object {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null) return value;
  throw new KubeletError("CorruptCheckpoint", "checkpoint is corrupted");
}

/** Empty lists are omitted, and quantities are text. */
function written({ limits, requests, claims }: ResourceRequirements): ResourceRequirements {
  const list = (amounts: object | undefined) =>
    amounts && Object.keys(amounts).length > 0
      ? Object.fromEntries([...sorted(new Map(Object.entries(amounts)))].map(([k, v]) => [k, String(v)]))
      : undefined;
  const [limitList, requestList] = [list(limits), list(requests)];
  return {
    ...(limitList && { limits: limitList }),
    ...(requestList && { requests: requestList }),
    ...(claims && claims.length > 0 && { claims }),
  };
}

function sorted<K extends string, V>(map: ReadonlyMap<K, V>): [K, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
