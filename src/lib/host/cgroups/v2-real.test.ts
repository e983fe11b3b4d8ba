import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { CgroupResources } from "./cgroup-filesystem.ts";
import { readHugepageSizes } from "./host-info.ts";
import { detectLayout } from "./layout.ts";
import { CgroupV2 } from "./v2.ts";

const layout = await detectLayout();
const skip =
  layout.version !== 2
    ? "this host has cgroup v1"
    : process.getuid?.() !== 0
      ? "only root can create cgroups"
      : false;

/** On real cgroups, below one of this test. */
describe("cgroup v2 on this host", { skip }, async () => {
  const mount = layout.version === 2 ? layout.root : "";
  const root = `/kubelet-ts-test-v2-${process.pid}`;
  const filesystem = new CgroupV2({ root: mount });
  const read = (path: string, file: string) => readFileSync(join(mount, path, file), "utf8").trim();
  const controllers = skip ? [] : read("/", "cgroup.controllers").split(" ");
  const without = (controller: string) =>
    !controllers.includes(controller) && `no ${controller} controller here`;
  after(() => filesystem.remove(root));

  it("is created with the controllers that pods need", async () => {
    await filesystem.create(`${root}/a/b`, {});
    const there = read(`${root}/a/b`, "cgroup.controllers").split(" ");
    for (const name of ["cpu", "cpuset", "memory", "hugetlb", "pids"])
      assert.equal(there.includes(name), controllers.includes(name), name);
    assert.equal(await filesystem.exists(`${root}/a/b`), true);
    assert.equal(await filesystem.exists(`${root}/none`), false);
    assert.equal(await filesystem.missingControllers(`${root}/none`), undefined);
    assert.deepEqual(await filesystem.children(root), ["a"]);
    assert.deepEqual(await filesystem.children(`${root}/none`), []);
  });

  it("names the controllers that a foreign cgroup lacks", async () => {
    await filesystem.create(`${root}/foreign`, {});
    mkdirSync(join(mount, root, "foreign/bare"));
    const expected = ["cpu", "cpuset", "memory", "hugetlb", "pids"].filter((name) =>
      controllers.includes(name),
    );
    assert.deepEqual(await filesystem.missingControllers(`${root}/foreign/bare`), expected);
    assert.equal(await filesystem.exists(`${root}/foreign/bare`), false);
    await filesystem.create(`${root}/foreign/bare`, {});
    assert.deepEqual(await filesystem.missingControllers(`${root}/foreign/bare`), []);
  });

  it("creating it again keeps its limits", async () => {
    await filesystem.create(`${root}/again`, { pids: 5n });
    await filesystem.create(`${root}/again`, {});
    assert.equal(read(`${root}/again`, "pids.max"), "5");
  });

  const written: [file: string, want: string, resources: CgroupResources][] = [
    ["cpu.weight", "4", { cpuShares: 102n }],
    ["cpu.weight", "1", { cpuShares: 2n }],
    ["cpu.weight", "10000", { cpuShares: 262_144n }],
    ["cpu.max", "20000 100000", { cpuQuota: 20_000n, cpuPeriod: 100_000n }],
    ["cpu.max", "max 50000", { cpuPeriod: 50_000n }],
    ["cpu.max", "max 100000", { cpuQuota: -1n }],
    ["memory.max", "33554432", { memory: 33_554_432n }],
    ["memory.max", "max", { memory: -1n }],
    ["memory.low", "4194304", { unified: { "memory.low": "4194304" } }],
    ["pids.max", "7", { pids: 7n }],
    ["pids.max", "max", { pids: -1n }],
    ["cpuset.cpus", "0", { cpuset: "0" }],
  ];
  for (const [index, [file, want, resources]] of written.entries()) {
    it(`sets ${file} = ${want}`, { skip: without(file.split(".")[0]!) }, async () => {
      const path = `${root}/w${index}`;
      await filesystem.create(path, resources);
      assert.equal(read(path, file), want);
    });
  }

  it("sets a limit for every huge page size, zero and unlimited", { skip: without("hugetlb") }, async () => {
    const sizes = await readHugepageSizes();
    await filesystem.create(`${root}/huge`, { hugepages: new Map(sizes.map((size) => [size, 0n])) });
    for (const size of sizes) assert.equal(read(`${root}/huge`, `hugetlb.${size}.max`), "0");
    await filesystem.update(`${root}/huge`, { hugepages: new Map(sizes.map((size) => [size, 1n << 62n])) });
    for (const size of sizes) assert.notEqual(read(`${root}/huge`, `hugetlb.${size}.max`), "0");
  });

  it("an update changes only the given limits", async () => {
    const path = `${root}/update`;
    await filesystem.create(path, { cpuQuota: 1_000n, cpuPeriod: 1_000n, memory: 33_554_432n, pids: 3n });
    await filesystem.update(path, { cpuQuota: 900_000n, cpuPeriod: 1_000_000n, pids: -1n });
    const now = ["cpu.max", "memory.max", "pids.max"].map((file) => read(path, file));
    assert.deepEqual(now, ["900000 1000000", "33554432", "max"]);
  });

  it("is removed with its processes and children, and nothing else", async () => {
    await filesystem.create(`${root}/pod/container`, {});
    await filesystem.create(`${root}/other`, {});
    const inside = spawn("sleep", ["1000"], { stdio: "ignore" });
    const sibling = spawn("sleep", ["1000"], { stdio: "ignore" });
    try {
      const ended = once(inside, "exit");
      await writeFile(join(mount, root, "pod/container/cgroup.procs"), String(inside.pid));
      await writeFile(join(mount, root, "other/cgroup.procs"), String(sibling.pid));
      assert.deepEqual(await filesystem.pids(`${root}/pod`), [inside.pid]);
      await filesystem.remove(`${root}/pod`);
      assert.deepEqual(await ended, [null, "SIGKILL"]);
      assert.ok(!existsSync(join(mount, root, "pod")));
      assert.deepEqual(await filesystem.pids(`${root}/other`), [sibling.pid]);
      assert.equal(sibling.exitCode, null);
    } finally {
      inside.kill("SIGKILL");
      sibling.kill("SIGKILL");
    }
  });

  it("removing a missing cgroup is not an error", () => filesystem.remove(`${root}/none`));
});
