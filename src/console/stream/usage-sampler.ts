import type { Clock } from "../../lib/base/clock.ts";
import { epochMs, type MonotonicTime, msBetween } from "../../lib/base/time.ts";
import type {
  ContainerStats,
  NetworkStats,
  NodeStats,
  PodStats,
  Summary,
} from "../../lib/model/stats-summary.ts";
import type { ConsoleNode } from "../console-node.ts";
import type { Usage, UsageSample } from "../protocol.ts";

/** Disk and network are read with every third sample: the runtime walks disks for them. */
const wholeEvery = 3;

interface Traffic {
  readonly rx: number;
  readonly tx: number;
}

type Slow = Pick<Usage, "disk" | "rx" | "tx">;

/** A sample of the node, its pods, their containers, and of the agent's own process. */
export interface Sample {
  readonly usage: UsageSample;
  readonly containers: ReadonlyMap<string, ReadonlyMap<string, ContainerStats>>;
  readonly agent: { readonly cpu: number | null; readonly memory: number | null };
}

/** Takes samples one at a time; rates are between two of them. */
export class UsageSampler {
  readonly #node: Pick<ConsoleNode, "usage" | "process">;
  #count = 0;
  /** The counters of the last whole sample, by UID; "" is the node. */
  #traffic: { at: MonotonicTime; by: ReadonlyMap<string, Traffic> } | undefined;
  #slow: ReadonlyMap<string, Slow> = new Map();
  #process: { at: MonotonicTime; cpuSeconds: number } | undefined;
  readonly #clock: Clock;

  constructor(node: Pick<ConsoleNode, "usage" | "process">, clock: Clock) {
    this.#node = node;
    this.#clock = clock;
  }

  async take(): Promise<Sample> {
    const isWhole = this.#count++ % wholeEvery === 0;
    const [summary, process] = await Promise.all([this.#node.usage(isWhole), this.#node.process()]);
    const at = this.#clock.monotonic();
    if (isWhole) this.#readSlow(summary, at);
    const previous = this.#process;
    this.#process = { at, cpuSeconds: process.cpuSeconds };
    const seconds = previous ? msBetween(previous.at, at) / 1000 : 0;
    return {
      usage: {
        at: epochMs(this.#clock.wall()),
        node: this.#usage("", summary.node),
        pods: Object.fromEntries(
          summary.pods.map((pod) => [pod.podRef.uid, this.#usage(pod.podRef.uid, pod)]),
        ),
      },
      containers: new Map(
        summary.pods.map((pod) => [pod.podRef.uid, new Map(pod.containers.map((c) => [c.name, c]))]),
      ),
      agent: {
        cpu: previous && seconds > 0 ? (process.cpuSeconds - previous.cpuSeconds) / seconds : null,
        memory: process.residentBytes,
      },
    };
  }

  #usage(key: string, { cpu, memory }: Pick<NodeStats | PodStats, "cpu" | "memory">): Usage {
    return {
      cpu: cpu?.usageNanoCores === undefined ? null : cpu.usageNanoCores / 1e9,
      memory: memory?.workingSetBytes ?? null,
      ...(this.#slow.get(key) ?? { disk: null, rx: null, tx: null }),
    };
  }

  #readSlow({ node, pods }: Summary, at: MonotonicTime): void {
    const all = [
      { key: "", disk: node.fs?.usedBytes, network: node.network },
      ...pods.map((pod) => ({
        key: pod.podRef.uid,
        disk: pod["ephemeral-storage"]?.usedBytes,
        network: pod.network,
      })),
    ];
    const previous = this.#traffic;
    const by = new Map<string, Traffic>();
    const slow = new Map<string, Slow>();
    for (const { key, disk, network } of all) {
      const traffic = network && trafficOf(network);
      if (traffic) by.set(key, traffic);
      const before = previous?.by.get(key);
      const seconds = previous ? msBetween(previous.at, at) / 1000 : 0;
      const rate = (name: keyof Traffic) =>
        traffic && before && seconds > 0 && traffic[name] >= before[name]
          ? (traffic[name] - before[name]) / seconds
          : null;
      slow.set(key, { disk: disk ?? null, rx: rate("rx"), tx: rate("tx") });
    }
    this.#traffic = { at, by };
    this.#slow = slow;
  }
}

/** The traffic of the default interface, as the summary reports it: the others, such as the bridge of the pods, carry the same packets again. */
function trafficOf({ interfaces = [], rxBytes, txBytes }: NetworkStats): Traffic {
  const sum = (name: "rxBytes" | "txBytes") => interfaces.reduce((total, i) => total + (i[name] ?? 0), 0);
  return { rx: rxBytes ?? sum("rxBytes"), tx: txBytes ?? sum("txBytes") };
}
