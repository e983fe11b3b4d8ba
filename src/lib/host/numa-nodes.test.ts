import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { readNumaNodes, withoutNuma } from "./numa-nodes.ts";

async function sysfs(t: { after(fn: () => Promise<void>): void }, files: Record<string, string>) {
  const dir = await mkdtemp(join(tmpdir(), "sysfs-"));
  t.after(() => rm(dir, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  return dir;
}

const node = "devices/system/node";

test("memory, huge pages and distances of each NUMA node are read, by ID", async (t) => {
  const dir = await sysfs(t, {
    [`${node}/possible`]: "0-10\n",
    [`${node}/node10/meminfo`]: "Node 10 MemTotal:        2048 kB\nNode 10 MemFree:            1 kB\n",
    [`${node}/node10/distance`]: "21 10\n",
    [`${node}/node2/meminfo`]: "\nNode 2 MemTotal:       16316412 kB\n",
    [`${node}/node2/distance`]: "10 21\n",
    [`${node}/node2/hugepages/hugepages-2048kB/nr_hugepages`]: "16\n",
    [`${node}/node2/hugepages/hugepages-1048576kB/nr_hugepages`]: "0\n",
  });
  assert.deepEqual(await readNumaNodes(dir), [
    {
      id: 2,
      memoryBytes: 16316412n * 1024n,
      hugepages: [
        { pageBytes: 2n << 20n, pages: 16n },
        { pageBytes: 1n << 30n, pages: 0n },
      ],
      distances: [10, 21],
    },
    { id: 10, memoryBytes: 2n << 20n, hugepages: [], distances: [21, 10] },
  ]);
});

test("a kernel without NUMA has no nodes, and the machine counts as one", async (t) => {
  const dir = await sysfs(t, { "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "3\n" });
  assert.deepEqual(await readNumaNodes(dir), []);
  assert.deepEqual(await withoutNuma(1n << 30n, dir), [
    { id: 0, memoryBytes: 1n << 30n, hugepages: [{ pageBytes: 2n << 20n, pages: 3n }], distances: [10] },
  ]);
});

test("the NUMA nodes of this machine have its memory", async () => {
  const nodes = await readNumaNodes();
  for (const { memoryBytes, distances } of nodes) {
    assert.ok(memoryBytes >= 0n);
    assert.equal(distances.length, nodes.length);
  }
});
