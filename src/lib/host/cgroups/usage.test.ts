import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { hostCgroupFiles } from "./files.ts";
import { noPressure, parsePressure } from "./pressure.ts";
import { limitOf } from "./usage.ts";
import { V1UsageReader } from "./usage-v1.ts";
import { V2UsageReader } from "./usage-v2.ts";

const v1Files = {
  "cpuacct/kubepods/a/cpuacct.usage": "3000000000\n",
  "cpuacct/kubepods/a/cpuacct.stat": "user 200\nsystem 100\n",
  // Not these, which are not scaled to the usage.
  "cpuacct/kubepods/a/cpuacct.usage_user": "2100000000\n",
  "cpuacct/kubepods/a/cpuacct.usage_sys": "800000000\n",
  "cpu/kubepods/a/cpu.stat":
    "nr_periods 10\nnr_throttled 4\nthrottled_time 5000000\nnr_bursts 1\nburst_time 7000\n",
  "cpu/kubepods/a/cpu.shares": "512\n",
  "cpu/kubepods/a/cpu.cfs_quota_us": "50000\n",
  "cpu/kubepods/a/cpu.cfs_period_us": "100000\n",
  "memory/kubepods/a/memory.usage_in_bytes": "10000000\n",
  "memory/kubepods/a/memory.max_usage_in_bytes": "12000000\n",
  "memory/kubepods/a/memory.limit_in_bytes": "33554432\n",
  "memory/kubepods/a/memory.memsw.limit_in_bytes": "41943040\n",
  "memory/kubepods/a/memory.soft_limit_in_bytes": "9223372036854771712\n",
  "memory/kubepods/a/memory.failcnt": "3\n",
  "memory/kubepods/a/memory.kmem.usage_in_bytes": "4096\n",
  "memory/kubepods/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
  "memory/kubepods/a/memory.stat":
    "cache 1\nrss 2\npgfault 5\npgmajfault 6\ntotal_cache 100\ntotal_rss 200\ntotal_mapped_file 50\ntotal_swap 8192\n" +
    "total_pgfault 500\ntotal_pgmajfault 60\ntotal_inactive_file 4000000\ntotal_active_file 300\n",
  "memory/memory.usage_in_bytes": "600000\n",
  "memory/memory.limit_in_bytes": "9223372036854771712\n",
  "pids/kubepods/a/pids.current": "7\n",
  "pids/kubepods/a/pids.max": "max\n",
  "blkio/kubepods/a/blkio.throttle.io_serviced_recursive":
    "8:0 Read 5\n8:0 Write 6\n8:0 Total 11\nTotal 11\n",
  "blkio/kubepods/a/blkio.throttle.io_service_bytes_recursive":
    "8:0 Read 4096\n8:0 Write 8192\n8:0 Total 12288\n",
  "unified/kubepods/a/cpu.pressure": "some avg10=1.50 avg60=2.00 avg300=3.00 total=123\n",
};

const v2Files = {
  "cgroup.controllers": "cpu memory pids io\n",
  "cgroup.procs": "2\n3\n",
  "cpu.stat": "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n",
  "memory.stat": "anon 200000\nfile 100000\nslab 5000000\ninactive_file 1024\n",
  "kubepods/a/cpu.stat":
    "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 5000\nnr_bursts 1\nburst_usec 7\n",
  "kubepods/a/cpu.weight": "20\n",
  "kubepods/a/cpu.max": "50000 100000\n",
  "kubepods/a/memory.current": "10000000\n",
  "kubepods/a/memory.peak": "12000000\n",
  "kubepods/a/memory.max": "33554432\n",
  "kubepods/a/memory.swap.current": "8192\n",
  "kubepods/a/memory.swap.max": "max\n",
  "kubepods/a/memory.low": "2097152\n",
  "kubepods/a/memory.min": "1048576\n",
  "kubepods/a/memory.events": "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\n",
  "kubepods/a/memory.events.local": "low 0\nhigh 0\nmax 1\noom 1\noom_kill 1\n",
  "kubepods/a/memory.stat":
    "anon 200\nfile 100\nkernel 4096\nfile_mapped 50\ninactive_file 4000000\nactive_file 300\npgfault 500\npgmajfault 60\n",
  "kubepods/a/pids.current": "7\n",
  "kubepods/a/pids.max": "100\n",
  "kubepods/a/io.stat": "8:0 rbytes=4096 wbytes=8192 rios=5 wios=6 dbytes=0 dios=0\n7:0 \n",
  "kubepods/a/cpu.pressure":
    "some avg10=1.50 avg60=2.00 avg300=3.00 total=123\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=45\n",
  "kubepods/old/memory.current": "10\n",
  "kubepods/b/cpu.stat": "usage_usec 1\n",
  meminfo:
    "MemTotal:       1000 kB\nMemFree:         400 kB\nSwapTotal:       100 kB\nSwapFree:         60 kB\n",
};

const common = {
  cpu: {
    usageNs: 3e9,
    userNs: 2e9,
    systemNs: 1e9,
    periods: 10,
    throttledPeriods: 4,
    throttledNs: 5e6,
    burstPeriods: 1,
    burstNs: 7000,
    quotaUs: 50_000,
    periodUs: 100_000,
  },
  memory: {
    usage: 10_000_000,
    maxUsage: 12_000_000,
    workingSet: 6_000_000,
    rss: 200,
    cache: 100,
    mappedFile: 50,
    activeFile: 300,
    inactiveFile: 4_000_000,
    kernel: 4096,
    swap: 8192,
    failures: 3,
    oomKills: 2,
    ownOomKills: 2,
    pageFaults: 500,
    majorPageFaults: 60,
    limit: 33_554_432,
  },
  io: [
    {
      device: "8:0",
      reads: 5,
      writes: 6,
      readBytes: 4096,
      writeBytes: 8192,
      bytes: { Read: 4096, Write: 8192 },
    },
  ],
};

describe("cgroup usage", () => {
  let dir = "";
  const tree = async (name: string, files: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(files)) {
      const file = join(dir, name, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    return join(dir, name);
  };
  let v1: V1UsageReader;
  let v2: V2UsageReader;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "cgroup-usage-"));
    const top = await tree("v1", v1Files);
    const names = ["cpu", "cpuacct", "memory", "pids", "blkio", "unified"];
    const unified = await tree("v2", v2Files);
    const mounts = new Map(names.map((name) => [name, join(top, name)]));
    v1 = new V1UsageReader(mounts, hostCgroupFiles, join(unified, "meminfo"));
    v2 = new V2UsageReader(unified, hostCgroupFiles, join(unified, "meminfo"));
  });
  after(() => rm(dir, { recursive: true }));

  it("v1: each controller from its own directory, memory with all below, page faults without", async () => {
    const usage = await v1.read("/kubepods/a", "all");
    assert.deepEqual(usage, {
      cpu: { ...common.cpu, shares: 512 },
      memory: {
        ...common.memory,
        pageFaults: 5,
        majorPageFaults: 6,
        reservation: 0,
        swapLimit: 41_943_040,
      },
      pids: { current: 7, max: 0 },
      io: [{ ...common.io[0], bytes: { Read: 4096, Write: 8192, Total: 12288 } }],
      // Counters of a hybrid host's unified hierarchy are not reported.
      pressure: {},
    });
  });

  it("v2: all from one directory, microseconds as nanoseconds, weight as shares", async () => {
    const usage = await v2.read("/kubepods/a", "all");
    assert.deepEqual(usage, {
      cpu: { ...common.cpu, shares: 500 },
      memory: { ...common.memory, kernel: 0, failures: 0, ownOomKills: 1, reservation: 1_048_576 },
      pids: { current: 7, max: 100 },
      io: common.io,
      pressure: {
        cpu: {
          some: { avg10: 1.5, avg60: 2, avg300: 3, total: 123 },
          full: { avg10: 0.5, avg60: 0, avg300: 0, total: 45 },
        },
      },
    });
  });

  it("basic has only CPU and memory usage with their limits", async () => {
    for (const reader of [v1, v2]) {
      const usage = await reader.read("/kubepods/a", "basic");
      assert.equal(usage?.cpu?.usageNs, 3e9);
      assert.equal(usage?.memory?.workingSet, 6_000_000);
      assert.equal(usage?.memory?.limit, 33_554_432);
      assert.equal(usage?.memory?.failures, 0);
      assert.equal(usage?.io, undefined);
      assert.equal(usage?.pids, undefined);
    }
  });

  it("v1: I/O is that of the scheduler BFQ if it has counted any", async () => {
    const memory = { "memory/kubepods/bfq/memory.usage_in_bytes": "1\n" };
    const counted = (of: string, reads: number) => ({
      [`blkio/kubepods/bfq/blkio.${of}io_serviced_recursive`]: `8:0 Read ${reads}\nTotal ${reads}\n`,
      [`blkio/kubepods/bfq/blkio.${of}io_service_bytes_recursive`]: `8:0 Read ${reads * 512}\n`,
    });
    const top = await tree("v1", { ...memory, ...counted("throttle.", 9), ...counted("bfq.", 7) });
    const reads = async () =>
      (await v1.read("/kubepods/bfq", "all"))?.io?.map((of) => [of.reads, of.readBytes]);
    assert.deepEqual(await reads(), [[7, 3584]]);
    for (const what of ["io_serviced", "io_service_bytes"])
      await writeFile(join(top, `blkio/kubepods/bfq/blkio.bfq.${what}_recursive`), "Total 0\n");
    assert.deepEqual(await reads(), [[9, 4608]]);
  });

  it("v2: the root's memory is that of processes and the page cache, without the kernel's own", async () => {
    const { memory, cpu } = (await v2.read("/", "all"))!;
    assert.equal(memory?.usage, 300_000);
    assert.equal(memory?.maxUsage, 0);
    assert.equal(memory?.workingSet, 300_000 - 1024);
    assert.equal(memory?.swap, 40 * 1024);
    assert.equal(cpu?.usageNs, 9e9);
    assert.equal(cpu?.periodUs, 0);
  });

  it("the limits of the root are the sizes of memory and swap", async () => {
    for (const reader of [v1, v2]) {
      const { memory } = (await reader.read("/", "all"))!;
      assert.deepEqual([memory?.limit, memory?.swapLimit], [1000 * 1024, 100 * 1024], `v${reader.version}`);
    }
  });

  it("a cgroup without memory.peak (kernels before 5.19) has no maximum", async () => {
    const { memory } = (await v2.read("/kubepods/old", "all"))!;
    assert.equal(memory?.maxUsage, 0);
  });

  it("the root of v2 has no pids.current: its processes count", async () => {
    assert.deepEqual((await v2.read("/", "all"))?.pids, { current: 2, max: 0 });
  });

  it("a kernel that does not count swap has no file for its limit: the limit is 0", async () => {
    const { memory } = (await v2.read("/kubepods/old", "basic"))!;
    assert.equal(memory?.swapLimit, 0);
    assert.equal((await v2.read("/kubepods/old", "memory"))?.memory?.swapLimit, undefined);
  });

  it("a missing controller is omitted, a missing cgroup is undefined", async () => {
    assert.deepEqual(Object.keys((await v2.read("/kubepods/b", "all"))!), ["cpu", "pressure"]);
    assert.equal(await v2.read("/kubepods/none", "all"), undefined);
    assert.equal(await v1.read("/kubepods/none", "all"), undefined);
    assert.equal(await v1.createdAt("/kubepods/none"), undefined);
    assert.deepEqual(await v1.pids("/kubepods/none"), []);
    assert.deepEqual(
      (await v2.children("/kubepods")).toSorted((a, b) => (a < b ? -1 : 1)),
      ["a", "b", "old"],
    );
  });

  it("the time of creation does not change when a cgroup is created below", async () => {
    const time = new Date("2026-01-02T03:04:05Z");
    const later = new Date("2026-02-03T04:05:06Z");
    for (const [reader, file] of [
      [v1, join(dir, "v1/memory/kubepods/a/cgroup.clone_children")],
      [v2, join(dir, "v2/kubepods/a/cgroup.events")],
    ] as const) {
      await writeFile(file, "");
      await utimes(file, time, time);
      await utimes(dirname(file), later, later);
      assert.equal(await reader.createdAt("/kubepods/a"), time.getTime());
    }
  });

  it("no path leads out of the hierarchy", async () => {
    for (const path of ["/../x", "/a/../../x", "x", ""])
      await assert.rejects(async () => v2.read(path, "basic"), /is not a cgroup/, path);
  });
});

describe("limits", () => {
  const table: [text: string | undefined, limit: number | undefined][] = [
    ["max\n", undefined],
    ["9223372036854771712\n", undefined],
    ["18446744073709551615", undefined],
    ["33554432\n", 33_554_432],
    ["0\n", 0],
    ["-1\n", undefined],
    ["", undefined],
    [undefined, undefined],
  ];
  for (const [text, limit] of table)
    it(`${JSON.stringify(text)} is ${limit ?? "none"}`, () => assert.equal(limitOf(text), limit));
});

describe("pressure", () => {
  it("a missing line or key is undefined", () => {
    assert.deepEqual(parsePressure("full avg10=9.00 avg60=0.00 avg300=0.00 total=7\n"), {
      some: noPressure.some,
      full: { avg10: 9, avg60: 0, avg300: 0, total: 7 },
    });
    assert.deepEqual(parsePressure("nothing at all"), noPressure);
  });
});
