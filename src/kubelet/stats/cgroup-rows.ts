import { mapWithLimit } from "../../lib/base/map-with-limit.ts";
import type { WallTime } from "../../lib/base/time.ts";
import type { SandboxId } from "../../lib/clients/cri/cri.ts";
import type { CgroupUsage } from "../../lib/host/cgroups/usage.ts";
import type { InterfaceCounters } from "../../lib/host/network-usage.ts";
import { readOpenFiles, readOpenFilesLimit } from "../../lib/host/process-usage.ts";
import { readTaskStates, type TaskStates } from "../../lib/host/task-states.ts";
import type { ObservedPod } from "../state/observed-pods.ts";
import { containerIdOf, containerPids } from "./cgroup-sampler.ts";
import type { Layer } from "./layers.ts";
import type { StatsHost, StatsOptions } from "./options.ts";
import type { SandboxImages } from "./sandbox-images.ts";

/** One cgroup, its owner, and its counters. */
export interface CgroupRow {
  /** Its path: "/kubepods/pod…/…". */
  readonly id: string;
  /** The ID of the container or sandbox, with CRI-O its name; "" if it is neither. */
  readonly name: string;
  /** The ID of the container; undefined if it is none. */
  readonly containerId?: string;
  readonly image: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Milliseconds since the epoch. */
  readonly time: WallTime;
  readonly startedAt: WallTime;
  readonly usage: CgroupUsage;
  /** The counters of a pod's network, which its sandbox has. */
  readonly network?: readonly InterfaceCounters[];
  readonly processes?: number;
  readonly tasks?: TaskStates;
  readonly openFiles?: number;
  readonly openSockets?: number;
  readonly openFilesLimit?: number;
  readonly layer?: Layer;
}

type Owner = Pick<CgroupRow, "name" | "image" | "namespace" | "pod" | "container" | "containerId"> & {
  readonly kind: "machine" | "group" | "pod" | "sandbox" | "container";
  readonly startedAt?: WallTime;
  /** For a sandbox: the cgroups of the containers in its network. */
  readonly sharedBy?: readonly string[];
};

const cgroupsAtOnce = 4;
const noContainer = { name: "", image: "", namespace: "", pod: "", container: "" };

/** The machine, the configured cgroups, and all cgroups of pods down to containers. */
export async function cgroupRows(
  o: StatsOptions,
  host: StatsHost,
  sandboxImages: SandboxImages,
): Promise<CgroupRow[]> {
  const owners = new Map<string, Owner>([["/", { ...noContainer, kind: "machine", startedAt: o.bootedAt }]]);
  for (const path of Object.values(await o.systemCgroups()))
    if (path) owners.set(path, { ...noContainer, kind: "group" });
  const pods = podsByCgroup(o);
  await addTree(o, o.podsCgroup, pods, owners, 0);
  const images = await sandboxImages.of(
    [...pods.values()].flatMap((pod) => pod.sandboxes.map(({ id }) => id)),
  );
  for (const [path, pod] of pods) await addPod(o, path, pod, images, owners);
  const rows = await mapWithLimit([...owners], cgroupsAtOnce, ([path, owner]) => rowOf(o, host, path, owner));
  return rows.filter((row) => row !== undefined);
}

function podsByCgroup(o: StatsOptions): Map<string, ObservedPod> {
  const found = new Map<string, ObservedPod>();
  for (const pod of o.observed.all()) {
    const path = o.cgroupOf(pod.uid);
    if (path !== undefined) found.set(path, pod);
  }
  return found;
}

/** kubepods and the QoS cgroups; pods are read separately. */
async function addTree(
  o: StatsOptions,
  path: string,
  pods: ReadonlyMap<string, ObservedPod>,
  owners: Map<string, Owner>,
  depth: number,
): Promise<void> {
  owners.set(path, { ...noContainer, kind: "group" });
  if (depth >= 1) return;
  for (const name of await o.cgroups.children(path)) {
    const below = path === "/" ? `/${name}` : `${path}/${name}`;
    if (!pods.has(below) && /burstable|besteffort/.test(name))
      await addTree(o, below, pods, owners, depth + 1);
  }
}

async function addPod(
  o: StatsOptions,
  path: string,
  pod: ObservedPod,
  sandboxImages: ReadonlyMap<SandboxId, string>,
  owners: Map<string, Owner>,
): Promise<void> {
  const podLabels = { namespace: pod.namespace, pod: pod.name };
  owners.set(path, { ...noContainer, ...podLabels, kind: "pod" });
  const sharedBy: string[] = [];
  for (const dir of await o.cgroups.children(path)) {
    const id = containerIdOf(dir);
    const container = pod.containers.find((c) => c.id === id);
    const sandbox = pod.sandboxes.find((s) => s.id === id);
    const cgroup = `${path}/${dir}`;
    if (container) {
      sharedBy.push(cgroup);
      owners.set(cgroup, {
        ...noContainer,
        ...podLabels,
        kind: "container",
        container: container.name,
        image: container.image,
        startedAt: container.createdAt,
        containerId: container.id,
        name: o.isCrio ? crioName(container.name, pod, container.attempt) : container.id,
      });
    } else if (sandbox) {
      const { id: name, attempt, createdAt: startedAt } = sandbox;
      const crio = o.isCrio && { name: crioName(crioSandbox, pod, attempt), container: crioSandbox };
      owners.set(cgroup, {
        ...noContainer,
        ...podLabels,
        name,
        ...crio,
        kind: "sandbox",
        startedAt,
        sharedBy,
        image: sandboxImages.get(sandbox.id) ?? "",
      });
    }
  }
}

/** The container name of a sandbox, as CRI-O labels it. */
const crioSandbox = "POD";

/** The name that CRI-O gives to a container. */
function crioName(name: string, pod: ObservedPod, attempt: number): string {
  return ["k8s", name, pod.name, pod.namespace, pod.uid, attempt].join("_");
}

/** The first process in the network namespace of a sandbox: CRI-O runs most sandboxes without a process. */
async function networkPid(
  o: StatsOptions,
  sharedBy: readonly string[],
  own: number | undefined,
): Promise<number | undefined> {
  if (own !== undefined) return own;
  for (const cgroup of sharedBy) {
    const [pid] = await containerPids(o.cgroups, cgroup);
    if (pid !== undefined) return pid;
  }
  return undefined;
}

/** Kills in a container do not count for the cgroups around it, as in cAdvisor. */
function withOwnOomKills(usage: CgroupUsage): CgroupUsage {
  const { memory } = usage;
  return memory ? { ...usage, memory: { ...memory, oomKills: memory.ownOomKills } } : usage;
}

async function rowOf(
  o: StatsOptions,
  host: StatsHost,
  id: string,
  owner: Owner,
): Promise<CgroupRow | undefined> {
  const { kind, startedAt, sharedBy = [], ...labels } = owner;
  const counted = await o.cgroups.read(id, "all");
  if (!counted) return undefined;
  const isGroup = kind !== "container" && kind !== "sandbox";
  const usage = {
    ...(isGroup ? withOwnOomKills(counted) : counted),
    ...(!o.psi && { pressure: {} }),
  };
  const time = o.clock.wall();
  const row = { id, ...labels, time, startedAt: startedAt ?? (await o.cgroups.createdAt(id)) ?? time, usage };
  const pids = await o.cgroups.pids(id);
  // The first process of the machine, of a sandbox or of a container; other cgroups have none of their own.
  const [first] = kind === "machine" ? [1] : kind === "container" || kind === "sandbox" ? pids : [];
  const networkOf =
    kind === "machine" ? "self" : kind === "sandbox" ? await networkPid(o, sharedBy, first) : undefined;
  const [open, tasks, limit, network] = await Promise.all([
    readOpenFiles(pids),
    readTaskStates(pids),
    first === undefined ? undefined : readOpenFilesLimit(first),
    networkOf === undefined ? undefined : host.network(networkOf),
  ]);
  return {
    ...row,
    processes: pids.length,
    tasks,
    openFiles: open.files,
    openSockets: open.sockets,
    ...(limit !== undefined && { openFilesLimit: limit }),
    ...(network && { network }),
  };
}
