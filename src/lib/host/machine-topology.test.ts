import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readLogicalCpus } from "./machine-topology.ts";
import { countRanges } from "./node-info.ts";

interface Cpu {
  core: number;
  socket: number;
  node?: number;
  /** The cache of level 3, and the CPUs that share it. */
  cache?: { id?: number; cpus: string };
}

function sysfs(t: TestContext, online: string, cpus: Readonly<Record<number, Cpu>>): string {
  const root = mkdtempSync(join(tmpdir(), "sysfs-"));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  write("devices/system/cpu/online", online);
  mkdirSync(join(root, "devices/system/cpu/cpufreq"));
  for (const [id, { core, socket, node, cache }] of Object.entries(cpus)) {
    const dir = `devices/system/cpu/cpu${id}`;
    write(`${dir}/topology/core_id`, `${core}`);
    write(`${dir}/topology/physical_package_id`, `${socket}`);
    if (node !== undefined) mkdirSync(join(root, dir, `node${node}`));
    write(`${dir}/cache/index0/level`, "1");
    write(`${dir}/cache/index0/shared_cpu_list`, id);
    if (!cache) continue;
    write(`${dir}/cache/index3/level`, "3");
    write(`${dir}/cache/index3/shared_cpu_list`, cache.cpus);
    if (cache.id !== undefined) write(`${dir}/cache/index3/id`, `${cache.id}`);
  }
  return root;
}

const tuple = ({
  id,
  core,
  socket,
  numaNode,
  uncoreCache,
}: Awaited<ReturnType<typeof readLogicalCpus>>[number]) => [id, core, socket, numaNode, uncoreCache];

test("cores of different sockets are distinct, and siblings share their core", async (t) => {
  const root = sysfs(t, "0-7", {
    0: { core: 0, socket: 0, node: 0 },
    1: { core: 0, socket: 1, node: 1 },
    2: { core: 1, socket: 0, node: 0 },
    3: { core: 1, socket: 1, node: 1 },
    4: { core: 0, socket: 0, node: 0 },
    5: { core: 0, socket: 1, node: 1 },
    6: { core: 1, socket: 0, node: 0 },
    7: { core: 1, socket: 1, node: 1 },
  });
  assert.deepEqual((await readLogicalCpus(root)).map(tuple), [
    [0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1],
    [2, 2, 0, 0, 0],
    [3, 3, 1, 1, 1],
    [4, 0, 0, 0, 0],
    [5, 1, 1, 1, 1],
    [6, 2, 0, 0, 0],
    [7, 3, 1, 1, 1],
  ]);
});

test("caches that only some CPUs of a NUMA node share are distinguished by their ID", async (t) => {
  const cpu = (core: number, id: number, cpus: string): Cpu => ({
    core,
    socket: 0,
    node: 0,
    cache: { id, cpus },
  });
  const root = sysfs(t, "0-3", {
    0: cpu(0, 4, "0-1"),
    1: cpu(1, 4, "0-1"),
    2: cpu(2, 5, "2-3"),
    3: cpu(3, 5, "2-3"),
  });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.uncoreCache),
    [4, 4, 5, 5],
  );
});

test("a cache without an ID is known by its lowest CPU", async (t) => {
  const cpu = (core: number, cpus: string): Cpu => ({ core, socket: 0, node: 0, cache: { cpus } });
  const root = sysfs(t, "0-3", { 0: cpu(0, "0,2"), 1: cpu(1, "1,3"), 2: cpu(2, "0,2"), 3: cpu(3, "1,3") });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.uncoreCache),
    [0, 1, 0, 1],
  );
});

test("a cache of the whole NUMA node counts as that of the socket", async (t) => {
  const cpu = (core: number): Cpu => ({ core, socket: 3, node: 0, cache: { id: 7, cpus: "0-1" } });
  const root = sysfs(t, "0-1", { 0: cpu(0), 1: cpu(1) });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.uncoreCache),
    [3, 3],
  );
});

test("offline CPUs are left out", async (t) => {
  const cpu = (core: number): Cpu => ({ core, socket: 0, node: 0 });
  const root = sysfs(t, "0,2", { 0: cpu(0), 1: cpu(1), 2: cpu(2) });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.id),
    [0, 2],
  );
});

test("without NUMA each socket counts as a node", async (t) => {
  const root = sysfs(t, "0-1", { 0: { core: 0, socket: 0 }, 1: { core: 0, socket: 1 } });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.numaNode),
    [0, 1],
  );
});

test("a machine that reports no CPU is an error that names the directory", async (t) => {
  await assert.rejects(
    readLogicalCpus(sysfs(t, "", {})),
    /could not detect number of cpus: .*devices\/system\/cpu/,
  );
});

test("all online CPUs of this machine are found", async () => {
  const online = countRanges(readFileSync("/sys/devices/system/cpu/online", "utf8"));
  assert.equal((await readLogicalCpus()).length, online);
});
