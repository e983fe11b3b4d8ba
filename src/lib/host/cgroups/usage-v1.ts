import type { WallTime } from "../../base/time.ts";
import type { CgroupFiles } from "./files.ts";
import { InterfaceFiles } from "./interface-files.ts";
import { readMachineMemory } from "./machine-memory.ts";
import { readPids } from "./tree.ts";
import {
  type CgroupUsage,
  type CgroupUsageReader,
  type CpuCounters,
  cgroupDirOf,
  creationTime,
  type DeviceCounters,
  limitOf,
  type MemoryCounters,
  type UsageParts,
} from "./usage.ts";

/** USER_HZ is 100 on all architectures of Node.js. */
const tickNs = 10_000_000;

/** Each controller has its own directory. */
export class V1UsageReader implements CgroupUsageReader {
  readonly version = 1;
  readonly #mounts: ReadonlyMap<string, string>;
  readonly #files: Pick<CgroupFiles, "read" | "dirs">;
  readonly #meminfo: string;

  constructor(
    mounts: ReadonlyMap<string, string>,
    files: Pick<CgroupFiles, "read" | "dirs">,
    meminfo = "/proc/meminfo",
  ) {
    this.#mounts = mounts;
    this.#files = files;
    this.#meminfo = meminfo;
  }

  async read(path: string, parts: UsageParts): Promise<CgroupUsage | undefined> {
    const all = parts === "all";
    const [cpu, memory, pids, io] = await Promise.all([
      parts === "memory" ? undefined : this.#cpu(path, all),
      this.#memory(path, parts),
      all ? this.#pids(path) : undefined,
      all ? this.#io(path) : undefined,
    ]);
    if (!cpu && !memory && !pids) return undefined;
    return {
      ...(cpu && { cpu }),
      ...(memory && { memory }),
      ...(pids && { pids }),
      ...(io && { io }),
      // A hybrid host may count pressure in its unified hierarchy; a kubelet on cgroup v1 reports none.
      pressure: {},
    };
  }

  async children(path: string): Promise<string[]> {
    const dir = this.#main(path);
    return dir === undefined ? [] : this.#files.dirs(dir);
  }

  async pids(path: string): Promise<number[]> {
    // Processes of services may be in the root of the other controllers.
    const mount = this.#mounts.get("cpu");
    const dir = mount === undefined ? this.#main(path) : cgroupDirOf(mount, path);
    return dir === undefined ? [] : readPids(this.#files as CgroupFiles, dir);
  }

  async createdAt(path: string): Promise<WallTime | undefined> {
    const dir = this.#main(path);
    return dir === undefined ? undefined : creationTime(dir, "cgroup.clone_children");
  }

  #main(path: string): string | undefined {
    const mount = ["memory", "cpuacct", "cpu", "pids"].map((c) => this.#mounts.get(c)).find(Boolean);
    return mount === undefined ? undefined : cgroupDirOf(mount, path);
  }

  #of(controller: string, path: string): InterfaceFiles | undefined {
    const mount = this.#mounts.get(controller);
    return mount === undefined ? undefined : new InterfaceFiles(this.#files, cgroupDirOf(mount, path));
  }

  async #cpu(path: string, all: boolean): Promise<CpuCounters | undefined> {
    const account = this.#of("cpuacct", path);
    const usageNs = await account?.number("cpuacct.usage");
    if (!account || usageNs === undefined) return undefined;
    const cpu = all ? this.#of("cpu", path) : undefined;
    const [modes, stat, shares, quota, periodUs] = await Promise.all([
      all ? account.flatKeyed("cpuacct.stat") : undefined,
      cpu?.flatKeyed("cpu.stat"),
      cpu?.number("cpu.shares"),
      cpu?.number("cpu.cfs_quota_us"),
      cpu?.number("cpu.cfs_period_us"),
    ]);
    const count = (key: string) => stat?.get(key) ?? 0;
    return {
      usageNs,
      // The kernel scales both so that their sum is the usage; cpuacct.usage_user and _sys are samples.
      userNs: (modes?.get("user") ?? 0) * tickNs,
      systemNs: (modes?.get("system") ?? 0) * tickNs,
      periods: count("nr_periods"),
      throttledPeriods: count("nr_throttled"),
      throttledNs: count("throttled_time"),
      burstPeriods: count("nr_bursts"),
      burstNs: count("burst_time"),
      shares: shares ?? 0,
      periodUs: periodUs ?? 0,
      ...(quota !== undefined && quota > 0 && { quotaUs: quota }),
    };
  }

  async #memory(path: string, parts: UsageParts): Promise<MemoryCounters | undefined> {
    const files = this.#of("memory", path);
    const usage = await files?.number("memory.usage_in_bytes");
    if (!files || usage === undefined) return undefined;
    const more = parts === "all" ? files : undefined;
    const [stat, maxUsage, limit, memsw, soft, failures, kernel, oom] = await Promise.all([
      files.flatKeyed("memory.stat"),
      more?.number("memory.max_usage_in_bytes"),
      files.text("memory.limit_in_bytes"),
      parts === "memory" ? "max" : files.text("memory.memsw.limit_in_bytes"),
      more?.text("memory.soft_limit_in_bytes"),
      more?.number("memory.failcnt"),
      more?.number("memory.kmem.usage_in_bytes"),
      more?.flatKeyed("memory.oom_control"),
    ]);
    const own = (key: string) => stat?.get(key) ?? 0;
    const total = (key: string) => stat?.get(`total_${key}`) ?? own(key);
    const machine = path === "/" ? await readMachineMemory(this.#files, this.#meminfo) : undefined;
    const memory = machine?.total ?? limitOf(limit);
    // A kernel that does not count swap has no such file: 0, as in the reference kubelet.
    const both = machine?.swapTotal ?? limitOf(memsw ?? "0");
    return {
      usage,
      maxUsage: maxUsage ?? 0,
      workingSet: Math.max(0, usage - total("inactive_file")),
      rss: total("rss"),
      cache: total("cache"),
      mappedFile: total("mapped_file"),
      activeFile: total("active_file"),
      inactiveFile: total("inactive_file"),
      kernel: kernel ?? 0,
      swap: total("swap"),
      failures: failures ?? 0,
      oomKills: oom?.get("oom_kill") ?? 0,
      ownOomKills: oom?.get("oom_kill") ?? 0,
      // As in the reference kubelet, the usage of cgroups below this one is not included.
      pageFaults: own("pgfault"),
      majorPageFaults: own("pgmajfault"),
      reservation: limitOf(soft) ?? 0,
      ...(memory !== undefined && { limit: memory }),
      // The limit of v1 is for memory and swap together.
      ...(both !== undefined && { swapLimit: both }),
    };
  }

  async #pids(path: string): Promise<CgroupUsage["pids"]> {
    const files = this.#of("pids", path);
    const [current, max] = await Promise.all([files?.number("pids.current"), files?.text("pids.max")]);
    return current === undefined ? undefined : { current, max: limitOf(max) ?? 0 };
  }

  async #io(path: string): Promise<readonly DeviceCounters[] | undefined> {
    const files = this.#of("blkio", path);
    if (!files) return undefined;
    const [serviced, bytes] = await Promise.all(
      ["io_serviced", "io_service_bytes"].map((what) =>
        first(
          files,
          // BFQ and CFQ count what they schedule; without them the kernel counts all before any limit.
          [`bfq.${what}_recursive`, `${what}_recursive`, `throttle.${what}_recursive`, `throttle.${what}`],
        ),
      ),
    );
    return mergeDevices(parseBlkio(serviced ?? ""), parseBlkio(bytes ?? ""));
  }
}

async function first(files: InterfaceFiles, names: readonly string[]): Promise<string> {
  for (const name of names) {
    const text = await files.text(`blkio.${name}`);
    if (text !== undefined && /\d+:\d+/.test(text)) return text;
  }
  return "";
}

type Operations = Record<string, number>;

/** "8:0 Read 123" lines, by device. */
function parseBlkio(text: string): Map<string, Operations> {
  const devices = new Map<string, Operations>();
  for (const line of text.split("\n")) {
    const [, device, operation, value] = /^(\d+:\d+) ([A-Z][a-z]+) (\d+)$/.exec(line) ?? [];
    if (device === undefined || operation === undefined) continue;
    const counts = devices.get(device) ?? {};
    counts[operation] = (counts[operation] ?? 0) + Number(value);
    devices.set(device, counts);
  }
  return devices;
}

function mergeDevices(
  serviced: ReadonlyMap<string, Operations>,
  bytes: ReadonlyMap<string, Operations>,
): DeviceCounters[] {
  return [...new Set([...serviced.keys(), ...bytes.keys()])].map((device) => ({
    device,
    reads: serviced.get(device)?.Read ?? 0,
    writes: serviced.get(device)?.Write ?? 0,
    readBytes: bytes.get(device)?.Read ?? 0,
    writeBytes: bytes.get(device)?.Write ?? 0,
    bytes: bytes.get(device) ?? {},
  }));
}
