import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { CgroupResources } from "./cgroup-filesystem.ts";
import { type CgroupFiles, directCgroupFiles } from "./files.ts";
import { detectLayout } from "./layout.ts";
import { CgroupV1 } from "./v1.ts";

const layout = await detectLayout();
const skip =
  layout.version !== 1
    ? "this host has cgroup v2 only"
    : process.getuid?.() !== 0
      ? "only root can create cgroups"
      : false;

/** On real cgroups, below a cgroup of this test. */
describe("cgroup v1", { skip }, () => {
  const mounts = layout.version === 1 ? layout.mounts : new Map<string, string>();
  const root = `/kubelet-ts-test-${process.pid}`;
  const filesystem = new CgroupV1({ mounts });
  const dirs = (path: string) => [...new Set(mounts.values())].map((mount) => join(mount, path));
  const read = (controller: string, path: string, file: string) =>
    readFileSync(join(mounts.get(controller)!, path, file), "utf8").trim();
  after(() => filesystem.remove(root));

  it("is created in every hierarchy, with the cpuset of its parent", async () => {
    await filesystem.create(`${root}/a/b`, {});
    for (const dir of dirs(`${root}/a/b`)) assert.ok(existsSync(dir), dir);
    assert.equal(await filesystem.exists(`${root}/a/b`), true);
    assert.equal(await filesystem.exists(`${root}/none`), false);
    if (mounts.has("cpuset")) {
      assert.equal(read("cpuset", `${root}/a/b`, "cpuset.cpus"), read("cpuset", "/", "cpuset.cpus"));
      assert.notEqual(read("cpuset", `${root}/a/b`, "cpuset.mems"), "");
    }
  });

  it("is created below parents that an agent left without a cpuset when it was killed", {
    skip: !mounts.has("cpuset") && "no cpuset controller here",
  }, async () => {
    const cpuset = mounts.get("cpuset")!;
    await mkdir(join(cpuset, `${root}/killed/tier`), { recursive: true });
    assert.equal(read("cpuset", `${root}/killed/tier`, "cpuset.cpus"), "");
    await filesystem.create(`${root}/killed/tier/pod`, {});
    for (const path of ["killed", "killed/tier", "killed/tier/pod"])
      assert.equal(read("cpuset", `${root}/${path}`, "cpuset.cpus"), read("cpuset", "/", "cpuset.cpus"));
  });

  it("needs one operation in each hierarchy if its parents exist", async () => {
    await filesystem.create(`${root}/parent`, {});
    const made: string[] = [];
    const files: CgroupFiles = {
      ...directCgroupFiles,
      mkdir: (dir) => {
        made.push(dir);
        return directCgroupFiles.mkdir(dir);
      },
    };
    await new CgroupV1({ mounts, files }).create(`${root}/parent/pod`, {});
    assert.deepEqual(made, dirs(`${root}/parent/pod`));
  });

  it("does not exist while one hierarchy lacks it", async () => {
    await filesystem.create(`${root}/half`, {});
    const one = new CgroupV1({ mounts: new Map([["memory", mounts.get("memory")!]]) });
    await one.remove(`${root}/half`);
    assert.equal(await filesystem.exists(`${root}/half`), false);
    assert.deepEqual((await filesystem.missingControllers(`${root}/half`))?.includes("memory"), true);
    assert.equal(await filesystem.missingControllers(`${root}/none`), undefined);
    assert.deepEqual((await filesystem.children(root)).includes("half"), true);
  });

  const written: [controller: string, file: string, want: string, resources: CgroupResources][] = [
    ["cpu", "cpu.shares", "102", { cpuShares: 102n }],
    ["cpu", "cpu.cfs_quota_us", "20000", { cpuQuota: 20_000n, cpuPeriod: 100_000n }],
    ["cpu", "cpu.cfs_period_us", "50000", { cpuPeriod: 50_000n }],
    ["cpu", "cpu.cfs_quota_us", "-1", { cpuQuota: -1n }],
    ["memory", "memory.limit_in_bytes", "33554432", { memory: 33_554_432n }],
    ["pids", "pids.max", "7", { pids: 7n }],
    ["pids", "pids.max", "max", { pids: -1n }],
  ];
  for (const [index, [controller, file, want, resources]] of written.entries()) {
    it(`sets ${file} = ${want}`, {
      skip: !mounts.has(controller) && `no ${controller} controller here`,
    }, async () => {
      const path = `${root}/w${index}`;
      await filesystem.create(path, { ...resources, hugepages: new Map([["2MB", 0n]]) });
      assert.equal(read(controller, path, file), want);
    });
  }

  it("changes the quota first if the old one is invalid with the new period", async () => {
    const path = `${root}/quota`;
    await filesystem.create(path, { cpuQuota: 1_000n, cpuPeriod: 1_000n });
    await filesystem.update(path, { cpuQuota: 900_000n, cpuPeriod: 1_000_000n });
    assert.equal(read("cpu", path, "cpu.cfs_quota_us"), "900000");
    assert.equal(read("cpu", path, "cpu.cfs_period_us"), "1000000");
  });

  it("is removed with its processes and children, and nothing else", async () => {
    await filesystem.create(`${root}/pod/container`, {});
    await filesystem.create(`${root}/other`, {});
    const inside = spawn("sleep", ["1000"], { stdio: "ignore" });
    const sibling = spawn("sleep", ["1000"], { stdio: "ignore" });
    try {
      const ended = once(inside, "exit");
      for (const dir of dirs(`${root}/pod/container`))
        await writeFile(join(dir, "cgroup.procs"), String(inside.pid));
      for (const dir of dirs(`${root}/other`))
        await writeFile(join(dir, "cgroup.procs"), String(sibling.pid));
      assert.deepEqual(await filesystem.pids(`${root}/pod`), [inside.pid]);
      await filesystem.remove(`${root}/pod`);
      assert.deepEqual(await ended, [null, "SIGKILL"]);
      for (const dir of dirs(`${root}/pod`)) assert.ok(!existsSync(dir), dir);
      assert.deepEqual(await filesystem.pids(`${root}/other`), [sibling.pid]);
      assert.equal(sibling.exitCode, null);
    } finally {
      inside.kill("SIGKILL");
      sibling.kill("SIGKILL");
    }
  });

  it("removing a missing cgroup is not an error", () => filesystem.remove(`${root}/none`));
});

describe("cgroup v1, with files that are slow or fail", () => {
  it("is not created in the background after its creation has failed", async () => {
    const created: string[] = [];
    const gate = Promise.withResolvers<void>();
    const files: CgroupFiles = {
      ...directCgroupFiles,
      mkdir: async (dir) => {
        if (dir.startsWith("/full/")) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
        await gate.promise;
        created.push(dir);
      },
    };
    const mounts = new Map([
      ["memory", "/full"],
      ["cpu", "/slow"],
    ]);
    const failed = assert.rejects(new CgroupV1({ mounts, files }).create("/kubepods/pod1", {}), {
      code: "ENOSPC",
    });
    // A removal after the failure must find all of the cgroup.
    let createdBefore: string[] | undefined;
    const removal = failed.then(() => {
      createdBefore = [...created];
    });
    await new Promise((resolve) => setImmediate(resolve));
    gate.resolve();
    await removal;
    assert.deepEqual(createdBefore, ["/slow/kubepods/pod1"]);
  });
});
