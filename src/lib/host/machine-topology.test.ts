import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type FakeCpu, writeFakeSysfs } from "./fake-sysfs.ts";
import { readLogicalCpus } from "./machine-topology.ts";
import { countRanges } from "./node-info.ts";

function sysfs(t: TestContext, online: string, cpus: Readonly<Record<number, FakeCpu>>): string {
  const root = mkdtempSync(join(tmpdir(), "sysfs-"));
  t.after(() => rmSync(root, { recursive: true }));
  writeFakeSysfs(root, online, cpus);
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
  const cpu = (core: number, id: number, cpus: string): FakeCpu => ({
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
  const cpu = (core: number, cpus: string): FakeCpu => ({ core, socket: 0, node: 0, cache: { cpus } });
  const root = sysfs(t, "0-3", { 0: cpu(0, "0,2"), 1: cpu(1, "1,3"), 2: cpu(2, "0,2"), 3: cpu(3, "1,3") });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.uncoreCache),
    [0, 1, 0, 1],
  );
});

test("a cache of the whole NUMA node counts as that of the socket", async (t) => {
  const cpu = (core: number): FakeCpu => ({ core, socket: 3, node: 0, cache: { id: 7, cpus: "0-1" } });
  const root = sysfs(t, "0-1", { 0: cpu(0), 1: cpu(1) });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.uncoreCache),
    [3, 3],
  );
});

test("offline CPUs are omitted", async (t) => {
  const cpu = (core: number): FakeCpu => ({ core, socket: 0, node: 0 });
  const root = sysfs(t, "0,2", { 0: cpu(0), 1: cpu(1), 2: cpu(2) });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.id),
    [0, 2],
  );
});

test("without NUMA the machine counts as one node", async (t) => {
  const root = sysfs(t, "0-1", { 0: { core: 0, socket: 0 }, 1: { core: 0, socket: 1 } });
  assert.deepEqual(
    (await readLogicalCpus(root)).map((c) => c.numaNode),
    [0, 0],
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
