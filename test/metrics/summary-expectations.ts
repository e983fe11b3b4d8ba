import type { Summary } from "../../src/lib/model/stats-summary.ts";

/**
 * The expectations of the Kubernetes node e2e suite for `/stats/summary` ("should report resource usage through the stats api"): all
 * fields and their bounds.
 */
export interface SummaryExpectations {
  readonly nodeName: string;
  /** The node's memory capacity. */
  readonly memoryLimit: number;
  readonly cgroupVersion: 1 | 2;
  readonly pods: readonly string[];
  readonly now: number;
}

type Check = (value: unknown, path: string) => string[];
type Fields = Readonly<Record<string, Check>>;

const kb = 1000;
const mb = 1000 * kb;
const gb = 1000 * mb;
const tb = 1000 * gb;

/** Returns one line for each difference from the expectations. */
export function differencesFrom(summary: Summary, e: SummaryExpectations): string[] {
  const { memoryLimit, now } = e;
  const minute = 60_000;
  const stats = recent(now, minute);
  const started = recent(now, 365 * 24 * 60 * minute);
  // The kernel counts page faults of nested cgroups separately on v1 and together on v2.
  const faults = e.cgroupVersion === 2 ? 1e9 : 1_000_000;
  const cpu = (nanoCores: Check, seconds: Check) =>
    fields({ time: stats, usageNanoCores: nanoCores, usageCoreNanoSeconds: seconds, psi });
  const memory = (low: { usage: number; rss: number; faults: number }, high: number, more: Fields = {}) =>
    fields({
      time: stats,
      usageBytes: within(low.usage, high),
      workingSetBytes: within(low.usage, high),
      rssBytes: within(low.rss, high),
      pageFaults: within(low.faults, more.availableBytes ? faults : 1e9),
      majorPageFaults: within(0, 1e9),
      psi,
      ...more,
    });
  const io = optional(fields({ time: stats, psi }));
  const swapBytes = optional(either(within(0, memoryLimit), within(2 ** 62, Number.POSITIVE_INFINITY)));
  const swap = optional(fields({ time: stats, swapUsageBytes: swapBytes, swapAvailableBytes: swapBytes }));
  const disk = (used: Check) =>
    fields({
      time: stats,
      availableBytes: within(100 * mb, 10 * tb),
      capacityBytes: within(100 * mb, 10 * tb),
      usedBytes: used,
      inodesFree: within(1e4, 1e8),
      inodes: within(1e4, 1e8),
      inodesUsed: within(0, 1e8),
    });
  const anyDisk = disk(within(kb, 10 * tb));
  const system = (of: Check) =>
    fields({
      name: any,
      startTime: started,
      cpu: cpu(either(within(0, 0), within(10_000, 2e9)), within(1e7, 1e15)),
      memory: of,
      io,
      swap,
    });
  const process = memory({ usage: mb, rss: mb, faults: 1000 }, memoryLimit);
  const ofPod = (pageFaults: number) =>
    memory({ usage: 10 * kb, rss: kb, faults: pageFaults }, 80 * mb, {
      availableBytes: within(kb, 80 * mb),
    });
  const podCpu = cpu(within(10_000, 1e9), within(1e7, 1e11));
  const main = (rx: Check, tx: Check, errors: Check) => ({
    rxBytes: rx,
    rxErrors: errors,
    txBytes: tx,
    txErrors: errors,
  });
  const pod = fields({
    podRef: any,
    startTime: started,
    containers: named({
      "busybox-container": fields({
        name: any,
        startTime: started,
        cpu: podCpu,
        memory: ofPod(100),
        io,
        swap,
        rootfs: disk(within(kb, 10 * mb)),
        logs: disk(within(kb, 10 * mb)),
      }),
    }),
    network: fields({
      time: stats,
      name: equal("eth0"),
      ...main(within(10, 10 * mb), within(10, 10 * mb), within(0, 1000)),
      interfaces: any,
    }),
    cpu: podCpu,
    memory: ofPod(0),
    io,
    swap,
    volume: named({ "test-empty-dir": withName(disk(within(kb, mb))) }),
    "ephemeral-storage": disk(within(kb, 21 * mb)),
    process_stats: fields({ process_count: within(1, 1e8) }),
  });
  const node = fields({
    nodeName: equal(e.nodeName),
    startTime: started,
    systemContainers: named({
      kubelet: system(process),
      runtime: system(process),
      pods: system(
        memory({ usage: 10 * kb, rss: kb, faults: 0 }, memoryLimit, {
          availableBytes: within(kb, memoryLimit),
        }),
      ),
      misc: system(memory({ usage: 100 * kb, rss: 100 * kb, faults: 1000 }, memoryLimit)),
    }),
    cpu: cpu(within(100e3, 2e9), within(1e9, 1e15)),
    memory: fields({
      time: stats,
      availableBytes: within(100 * mb, memoryLimit),
      usageBytes: within(10 * mb, memoryLimit),
      workingSetBytes: within(10 * mb, memoryLimit),
      rssBytes: within(kb, memoryLimit),
      pageFaults: within(1000, 1e9),
      majorPageFaults: within(0, 1e9),
      psi,
    }),
    io,
    swap,
    network: fields({
      time: stats,
      name: either(equal(""), equal("eth0")),
      ...main(
        optional(within(mb, 100 * gb)),
        optional(within(10 * kb, 10 * gb)),
        optional(within(0, 100_000)),
      ),
      interfaces: any,
    }),
    fs: anyDisk,
    runtime: fields({ imageFs: anyDisk, containerFs: anyDisk }),
    rlimit: fields({ time: stats, maxpid: within(0, 1e8), curproc: within(0, 1e8) }),
  });
  const found = new Map(summary.pods.map((p) => [p.podRef.name, p]));
  return [...node(summary.node, "node"), ...e.pods.flatMap((name) => pod(found.get(name), `pods.${name}`))];
}

const any: Check = (value, path) => (value === undefined ? [`${path} is missing`] : []);
const optional =
  (check: Check): Check =>
  (value, path) =>
    value === undefined ? [] : check(value, path);
const either =
  (...checks: Check[]): Check =>
  (value, path) => {
    const results = checks.map((check) => check(value, path));
    return results.some((lines) => lines.length === 0) ? [] : results[0]!;
  };
const equal =
  (wanted: unknown): Check =>
  (value, path) =>
    value === wanted ? [] : [`${path} is ${JSON.stringify(value)}, not ${JSON.stringify(wanted)}`];
const within =
  (low: number, high: number): Check =>
  (value, path) =>
    typeof value === "number" && value >= low && value <= high
      ? []
      : [`${path} is ${value}, not within ${low} and ${high}`];
const recent =
  (now: number, maxAgeMs: number): Check =>
  (value, path) => {
    const at = Date.parse(String(value));
    // Times have whole seconds, and a measurement may be newer than the request.
    return at >= now - maxAgeMs && at < now + 180_000 ? [] : [`${path} is ${value}`];
  };

function fields(wanted: Fields): Check {
  return (value, path) => {
    if (value === null || typeof value !== "object") return [`${path} is ${value}`];
    const object = value as Record<string, unknown>;
    return [
      ...Object.entries(wanted).flatMap(([key, check]) => check(object[key], `${path}.${key}`)),
      ...Object.keys(object).flatMap((key) => (key in wanted ? [] : [`${path}.${key} is unexpected`])),
    ];
  };
}

/** A list of exactly these items, by name. */
function named(wanted: Fields): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return [`${path} is ${value}`];
    const items = Object.fromEntries((value as { name: string }[]).map((item) => [item.name, item]));
    return fields(wanted)(items, path);
  };
}

/** A volume has the fields of a disk and a name; here it has neither a PVC nor a health report. */
function withName(disk: Check): Check {
  return (value, path) => {
    if (value === null || typeof value !== "object") return [`${path} is ${value}`];
    const { name, ...rest } = value as Record<string, unknown>;
    return [...any(name, `${path}.name`), ...disk(rest, path)];
  };
}

const line = fields({
  total: within(0, Number.POSITIVE_INFINITY),
  avg10: within(0, 100),
  avg60: within(0, 100),
  avg300: within(0, 100),
});
const psi = fields({ full: line, some: line });
