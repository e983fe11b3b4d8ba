import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Clock } from "../../lib/base/clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { type WallTime, wallTime } from "../../lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../lib/clients/cri/cri.ts";
import {
  ContainerStatsSchema,
  ImageFsInfoResponseSchema,
  PodSandboxStatsSchema,
  PodSandboxStatusResponseSchema,
} from "../../lib/gen/runtime/v1/api_pb.js";
import type { CgroupUsage, CgroupUsageReader } from "../../lib/host/cgroups/usage.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../state/observed-pods.ts";
import type { StatsHost, StatsOptions } from "./options.ts";

/** Cgroups as defined by a test. */
export class FakeCgroups implements CgroupUsageReader {
  readonly version: 1 | 2;
  readonly all = new Map<string, CgroupUsage>();
  readonly members = new Map<string, number[]>();
  readonly creationTimes = new Map<string, number>();

  constructor(version: 1 | 2 = 1) {
    this.version = version;
  }

  async read(path: string): Promise<CgroupUsage | undefined> {
    return this.all.get(path);
  }

  async children(path: string): Promise<string[]> {
    const prefix = path === "/" ? "/" : `${path}/`;
    const below = [...this.all.keys()].filter((key) => key !== "/" && key.startsWith(prefix));
    return [...new Set(below.map((key) => key.slice(prefix.length).split("/")[0]!))];
  }

  async pids(path: string): Promise<number[]> {
    return this.members.get(path) ?? [];
  }

  async createdAt(path: string): Promise<WallTime | undefined> {
    return this.all.has(path) ? wallTime(this.creationTimes.get(path) ?? 0) : undefined;
  }
}

export function fakeUsage(usageNs: number, memory: number, limit?: number): CgroupUsage {
  return {
    cpu: {
      usageNs,
      userNs: usageNs,
      systemNs: 0,
      periods: 0,
      throttledPeriods: 0,
      throttledNs: 0,
      burstPeriods: 0,
      burstNs: 0,
      shares: 1024,
      periodUs: 100_000,
    },
    memory: {
      usage: memory + 1024,
      maxUsage: memory + 2048,
      workingSet: memory,
      rss: memory / 2,
      cache: 512,
      mappedFile: 1,
      activeFile: 2,
      inactiveFile: 1024,
      kernel: 3,
      swap: 0,
      failures: 0,
      oomKills: 0,
      ownOomKills: 0,
      pageFaults: 10,
      majorPageFaults: 1,
      reservation: 0,
      ...(limit !== undefined && { limit }),
    },
    pids: { current: 2, max: 0 },
    pressure: {},
  };
}

export function fakeContainer(name: string, over: Partial<ObservedContainer> = {}): ObservedContainer {
  return {
    id: `${name}-id` as ContainerId,
    name,
    sandboxId: "sandbox-id" as SandboxId,
    state: "running",
    attempt: 0,
    hash: "",
    image: "example.com/image:1",
    imageRef: "",
    createdAt: wallTime(1000),
    startedAt: wallTime(2000),
    finishedAt: wallTime(0),
    exitCode: 0,
    reason: "",
    message: "",
    logPath: "",
    annotations: {},
    ...over,
  };
}

export function fakeObservedPod(name: string, containers: readonly ObservedContainer[]): ObservedPod {
  return {
    uid: `${name}-uid` as PodUid,
    name,
    namespace: "default",
    sandboxes: [
      {
        id: "sandbox-id" as SandboxId,
        state: "ready",
        attempt: 0,
        createdAt: wallTime(500),
        ips: [],
        hostNetwork: false,
        annotations: {},
      },
    ],
    containers,
  };
}

const space = {
  availableBytes: 700,
  capacityBytes: 1000,
  usedBytes: 300,
  inodes: 100,
  inodesFree: 60,
  inodesUsed: 40,
};

export const fakeHost: StatsHost = {
  network: async () => [
    {
      name: "eth0",
      rxBytes: 1,
      rxPackets: 2,
      rxErrors: 3,
      rxDropped: 4,
      txBytes: 5,
      txPackets: 6,
      txErrors: 7,
      txDropped: 8,
    },
  ],
  space: async () => space,
  tasks: async () => ({ max: 32_768, running: 394 }),
  device: async () => "8:0",
};

export interface FakeRuntimeStats {
  containers?: MessageInitShape<typeof ContainerStatsSchema>[] | Error;
  sandboxes?: MessageInitShape<typeof PodSandboxStatsSchema>[] | Error;
  sandboxStatus?: MessageInitShape<typeof PodSandboxStatusResponseSchema> | Error;
  images?: MessageInitShape<typeof ImageFsInfoResponseSchema> | Error;
}

const imageFs = {
  timestamp: 5_000_000_000n,
  fsId: { mountpoint: "/var/lib/images" },
  usedBytes: { value: 3_387_392n },
  inodesUsed: { value: 315n },
};

/** Options for a node with one pod "web" of one container "c" in its own cgroups. */
export function fakeStatsOptions(
  clock: Clock,
  cgroups: FakeCgroups,
  runtime: FakeRuntimeStats = {},
  over: Partial<StatsOptions> = {},
): StatsOptions {
  const respond = async <T>(value: T | Error): Promise<T> => {
    if (value instanceof Error) throw value;
    return value;
  };
  return {
    nodeName: "node",
    clock,
    logger: silentLogger,
    cgroups,
    runtime: {
      listContainerStats: async () =>
        (await respond(runtime.containers ?? [])).map((c) => create(ContainerStatsSchema, c)),
      listPodSandboxStats: async () =>
        (await respond(runtime.sandboxes ?? [])).map((s) => create(PodSandboxStatsSchema, s)),
      podSandboxStatus: async () =>
        create(PodSandboxStatusResponseSchema, await respond(runtime.sandboxStatus ?? {})),
      imageFsInfo: async () =>
        create(ImageFsInfoResponseSchema, await respond(runtime.images ?? { imageFilesystems: [imageFs] })),
    },
    observed: { all: () => [fakeObservedPod("web", [fakeContainer("c")])] },
    pod: () => undefined,
    cgroupOf: (uid) => `/kubepods/pod${uid}`,
    podsCgroup: "/kubepods",
    systemCgroups: async () => ({}),
    rootDir: "/nowhere",
    podLogsDir: "/nowhere/logs",
    machine: { memoryBytes: 1_000_000, swapBytes: 0 },
    bootedAt: wallTime(0),
    startedAt: wallTime(100_000),
    psi: true,
    podStatsFromRuntime: false,
    isCrio: false,
    host: fakeHost,
    secondSampleMs: 0,
    ...over,
  };
}

/** "pods[].cpu.time" -> "string" for every value in it. */
export function fieldTypesOf(
  value: unknown,
  path = "",
  into = new Map<string, string>(),
): Map<string, string> {
  if (Array.isArray(value)) for (const item of value) fieldTypesOf(item, `${path}[]`, into);
  else if (value !== null && typeof value === "object")
    for (const [key, of] of Object.entries(value)) fieldTypesOf(of, `${path}.${key}`, into);
  else into.set(path, typeof value);
  return into;
}
