import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { systemClock } from "../base/clock.ts";
import { plusMs, wallTime } from "../base/time.ts";
import { parseDiskstats } from "./block-devices.ts";
import { readCpuTopology } from "./cpu-topology.ts";
import { parseNetDev, readNetworkUsage } from "./network-usage.ts";
import { readBootTime, readTaskCounts } from "./process-limits.ts";
import { limitOf, readOpenFiles, readProcessUsage } from "./process-usage.ts";

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:      10       1    0    0    0     0          0         0       10       1    0    0    0     0       0          0
  eth0: 977241965 700 1 2 0 0 0 0 1978776 600 3 4 0 0 0 0
eth0:1: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0
broken: 1 2 3
`;

it("interfaces are read with received and sent counts, even with a colon in the name; other rows are ignored", () => {
  const [lo, eth0, alias, ...more] = parseNetDev(netDev);
  assert.equal(lo?.name, "lo");
  assert.deepEqual(eth0, {
    name: "eth0",
    rxBytes: 977_241_965,
    rxPackets: 700,
    rxErrors: 1,
    rxDropped: 2,
    txBytes: 1_978_776,
    txPackets: 600,
    txErrors: 3,
    txDropped: 4,
  });
  assert.equal(alias?.name, "eth0:1");
  assert.deepEqual(more, []);
});

it("an exited process has no network usage; loopback interfaces do not count", async () => {
  assert.equal(await readNetworkUsage(2 ** 30), undefined);
  const own = await readNetworkUsage("self");
  assert.ok(own && !own.some(({ name }) => name === "lo" || name.startsWith("veth")));
});

it("the task limit is the smaller of pid_max and threads-max; unreadable values are omitted", async () => {
  const proc = await mkdtemp(join(tmpdir(), "proc-"));
  try {
    assert.deepEqual(await readTaskCounts(proc), {});
    await mkdir(join(proc, "sys/kernel"), { recursive: true });
    await writeFile(join(proc, "sys/kernel/pid_max"), "32768\n");
    await writeFile(join(proc, "sys/kernel/threads-max"), "1000\n");
    await writeFile(join(proc, "loadavg"), "1.36 3.49 4.53 2/3518 3715089\n");
    assert.deepEqual(await readTaskCounts(proc), { max: 1000, running: 3518 });
  } finally {
    await rm(proc, { recursive: true });
  }
});

it("the usage of this process includes CPU, memory, start time and open files", async () => {
  const booted = await readBootTime();
  const usage = await readProcessUsage(booted);
  assert.ok(booted > wallTime(0) && booted <= systemClock.wall());
  assert.ok(usage.startedAt >= booted && usage.startedAt <= plusMs(systemClock.wall(), 1000));
  const measured = process.memoryUsage().rss;
  assert.ok(Math.abs(usage.residentBytes - measured) < measured / 2);
  const { user, system } = process.cpuUsage();
  assert.ok(Math.abs(usage.cpuSeconds - (user + system) / 1e6) < 1);
  assert.ok(usage.openFiles > 2 && usage.openFiles < usage.maxFiles);
  assert.ok((await readOpenFiles([process.pid, 2 ** 30])).files > 2);
});

it("an unlimited resource limit is 2^64", () => {
  const limits =
    "Limit  Soft Limit  Hard Limit  Units\nMax address space  unlimited  unlimited  bytes\nMax open files            1024                 4096                 files\n";
  assert.equal(limitOf(limits, "Max open files"), 1024);
  assert.equal(limitOf(limits, "Max address space"), 2 ** 64);
});

it("disks are identified by their major and minor numbers", () => {
  const text = " 254       0 vda 100 2 300 40 500 6 700 80 1 90 120 0 0 0 0 0 0\n   7 0 loop0 0 0\n";
  const devices = parseDiskstats(text);
  assert.equal(devices.size, 1);
  assert.deepEqual(devices.get("254:0"), {
    path: "/dev/vda",
    reads: 100,
    readsMerged: 2,
    sectorsRead: 300,
    readMs: 40,
    writes: 500,
    writesMerged: 6,
    sectorsWritten: 700,
    writeMs: 80,
    inFlight: 1,
    ioMs: 90,
    weightedIoMs: 120,
  });
});

it("cores with the same ID in two sockets are counted separately", async () => {
  const dir = await mkdtemp(join(tmpdir(), "cpus-"));
  try {
    const cpus = [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 0],
    ] as const;
    for (const [index, [socket, core]] of cpus.entries()) {
      await mkdir(join(dir, `cpu${index}/topology`), { recursive: true });
      await writeFile(join(dir, `cpu${index}/topology/physical_package_id`), `${socket}\n`);
      await writeFile(join(dir, `cpu${index}/topology/core_id`), `${core}\n`);
    }
    assert.deepEqual(await readCpuTopology(dir), { sockets: 2, cores: 3 });
    assert.deepEqual(await readCpuTopology(join(dir, "none")), { sockets: 1, cores: 1 });
  } finally {
    await rm(dir, { recursive: true });
  }
});
