import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { apiJson } from "../../../lib/model/container-hash.ts";
import { type CpuSet, formatCpuSet, parseCpuSet, sortedCpus } from "../../../lib/model/cpu-set.ts";
import { fnv32a } from "../../../lib/model/fnv.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { CpuAssignments } from "./cpu-assignments.ts";

export type CpuPolicyName = "none" | "static";

/** CPU lists by pod and container; by container ID in files of kubelets before v1.18. */
type Entries = Readonly<Record<string, Readonly<Record<string, string>> | string>>;

interface Content {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries: Entries;
  /** CPU lists by pod. Undefined in files of kubelets without PodLevelResourceManagers. */
  readonly podEntries?: Readonly<Record<string, string>> | undefined;
}

/** The file as the reference kubelet writes it: its third format if there are sets of pods, otherwise its second. */
export function encodeCheckpoint(
  policyName: CpuPolicyName,
  { shared, pods, podSets }: CpuAssignments,
): string {
  const sorted = <V>(map: ReadonlyMap<string, V>) => byKey(Object.fromEntries(map));
  const entries = Object.fromEntries(
    sorted(pods).map(([uid, containers]) => [
      uid,
      Object.fromEntries(sorted(containers).map(([name, cpus]) => [name, formatCpuSet(cpus)])),
    ]),
  );
  const podEntries =
    podSets && Object.fromEntries(sorted(podSets).map(([uid, cpus]) => [uid, formatCpuSet(cpus)]));
  const defaultCpuSet = formatCpuSet(shared);
  return apiJson({
    policyName,
    defaultCpuSet,
    ...(pods.size > 0 && { entries }),
    ...(podSets &&
      podSets.size > 0 && {
        podEntries: Object.fromEntries(byKey(podEntries ?? {}).map(([uid, cpuSet]) => [uid, { cpuSet }])),
      }),
    checksum: checksumOf({ policyName, defaultCpuSet, entries, podEntries }),
  });
}

/**
 * Throws if the file is corrupt, or was written under another policy. With `podLevel`, the file may have sets of pods;
 * otherwise such a file is corrupt, as for the reference kubelet.
 */
export function decodeCheckpoint(policyName: CpuPolicyName, text: string, podLevel = false): CpuAssignments {
  const { content: found, checksum } = parsed(text);
  const { podEntries, ...content } = found;
  const hasPodEntries = podLevel && checksum === checksumOf({ ...content, podEntries: podEntries ?? {} });
  // Kubelets before v1.11 wrote files without a checksum.
  if (
    !hasPodEntries &&
    checksum !== 0 &&
    checksum !== checksumOf(content) &&
    checksum !== checksumOf(content, firstEntriesType)
  )
    throw corrupted();
  if (content.policyName !== policyName)
    throw new KubeletError(
      "CorruptCheckpoint",
      `configured policy ${JSON.stringify(policyName)} differs from state checkpoint policy ${JSON.stringify(content.policyName)}`,
    );
  const { defaultCpuSet, entries } = content;
  const shared = cpuSet(
    defaultCpuSet,
    () => `could not parse default cpu set ${JSON.stringify(defaultCpuSet)}`,
  );
  const pods = new Map<PodUid, ReadonlyMap<string, CpuSet>>();
  for (const [uid, containers] of Object.entries(entries)) {
    if (typeof containers === "string")
      throw new KubeletError(
        "CorruptCheckpoint",
        `failed to migrate checkpoint from v1 to v2: containerID '${uid}' not found in initial containers list`,
      );
    const ofPod = new Map<string, CpuSet>();
    for (const [name, list] of Object.entries(containers)) {
      const what = () =>
        `could not parse cpuset ${JSON.stringify(list)} for container ${JSON.stringify(name)} in pod ${JSON.stringify(uid)}`;
      ofPod.set(name, cpuSet(list, what));
    }
    pods.set(uid as PodUid, ofPod);
  }
  if (!podLevel) return { shared, pods };
  const podSets = Object.entries(hasPodEntries ? (podEntries ?? {}) : {}).map(
    ([uid, list]) => [uid as PodUid, cpuSet(list, () => "failed to parse cpuset")] as const,
  );
  return { shared, pods, podSets: new Map(podSets) };
}

const entriesType = "map[string]map[string]string";
const firstEntriesType = "map[string]string";

/** The checksum of the content with its Go type names, as the reference kubelet prints it. */
function checksumOf({ policyName, defaultCpuSet, entries, podEntries }: Content, type = entriesType): number {
  const fields = [
    `PolicyName:(string)${policyName}`,
    `DefaultCPUSet:(string)${defaultCpuSet}`,
    `Entries:(${type})${goMap(entries)}`,
    ...(podEntries ? [`PodEntries:(state.PodCPUAssignments)${goMap(goSets(podEntries))}`] : []),
    "Checksum:(checksum.Checksum)0",
  ];
  return fnv32a(`(*state.CPUManagerCheckpoint){${fields.join(" ")}}`);
}

/** Converts the lists of the file to the sets that the reference kubelet has in memory. */
function goSets(podEntries: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    byKey(podEntries).map(([uid, list]) => {
      const ids = sortedCpus(cpuSet(list, () => "failed to parse cpuset"));
      const elems = `map[${ids.map((id) => `${id}:{}`).join(" ")}]`;
      return [uid, `{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})${elems}}}`];
    }),
  );
}

function goMap(map: Readonly<Record<string, unknown>>): string {
  // An object would sort numeric names by value.
  const texts = byKey(map).map(([key, value]) =>
    typeof value === "string"
      ? `${key}:${value}`
      : `${key}:${goMap(value as Readonly<Record<string, unknown>>)}`,
  );
  return `map[${texts.join(" ")}]`;
}

function byKey<T>(record: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

function parsed(text: string): { content: Content; checksum: number } {
  const value = json(text);
  if (!isRecord(value)) throw corrupted();
  // The reference kubelet matches these names case-insensitively.
  const fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  const policyName = fields.get("policyname") ?? "";
  const defaultCpuSet = fields.get("defaultcpuset") ?? "";
  const entries = fields.get("entries") ?? {};
  const podEntries = fields.get("podentries") ?? undefined;
  const checksum = fields.get("checksum") ?? 0;
  if (typeof policyName !== "string" || typeof defaultCpuSet !== "string" || typeof checksum !== "number")
    throw corrupted();
  if (!isRecord(entries) || !Object.values(entries).every((entry) => isText(entry) || isTexts(entry)))
    throw corrupted();
  return {
    content: { policyName, defaultCpuSet, entries: entries as Entries, podEntries: podLists(podEntries) },
    checksum,
  };
}

function podLists(podEntries: unknown): Content["podEntries"] {
  if (podEntries === undefined) return undefined;
  if (!isRecord(podEntries)) throw corrupted();
  return Object.fromEntries(
    Object.entries(podEntries).map(([uid, entry]) => {
      if (!isRecord(entry)) throw corrupted();
      const lists = Object.entries(entry).filter(([name]) => name.toLowerCase() === "cpuset");
      const list = lists.at(-1)?.[1] ?? "";
      if (!isText(list)) throw corrupted();
      return [uid, list];
    }),
  );
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new KubeletError("CorruptCheckpoint", messageOf(error), { cause: error });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isText);
}

function cpuSet(list: string, what: () => string): CpuSet {
  try {
    return parseCpuSet(list);
  } catch (error) {
    throw new KubeletError("CorruptCheckpoint", `${what()}: ${messageOf(error)}`, { cause: error });
  }
}

function corrupted(): KubeletError {
  return new KubeletError("CorruptCheckpoint", "checkpoint is corrupted");
}
