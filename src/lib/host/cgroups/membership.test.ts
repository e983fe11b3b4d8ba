import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { hostCgroupFiles } from "./files.ts";
import { type CgroupLayout, detectLayout } from "./layout.ts";
import { cgroupMembership } from "./membership.ts";
import { cgroupFilesystem } from "./mounted-cgroups.ts";

describe("which processes are in a cgroup", () => {
  let dir = "";
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "cgroup-members-"));
    for (const [cgroup, pids] of [
      ["devices", "1\n5\n0\n"],
      ["memory", "7\n"],
      ["unified", "8\n"],
      ["v2", "1\n9\n"],
      ...["devices/a", "memory/a", "unified/a", "v2/a"].map((name) => [name, ""]),
    ] as const) {
      await mkdir(join(dir, cgroup!), { recursive: true });
      await writeFile(join(dir, cgroup!, "cgroup.procs"), pids!);
    }
  });
  after(() => rm(dir, { recursive: true }));
  const v1 = (): CgroupLayout => ({
    version: 1,
    mounts: new Map(["memory", "devices", "unified"].map((name) => [name, join(dir, name)])),
  });
  const v2 = (): CgroupLayout => ({ version: 2, root: join(dir, "v2") });
  const written = (cgroup: string) => readFile(join(dir, cgroup, "cgroup.procs"), "utf8");

  it("v1: those in the root of devices, without those of other pid namespaces", async () => {
    assert.deepEqual(await cgroupMembership(v1()).rootProcesses(), [1, 5]);
  });

  it("v2: those in the root", async () => {
    assert.deepEqual(await cgroupMembership(v2()).rootProcesses(), [1, 9]);
  });

  it("v1: a process is moved in every hierarchy with a controller", async () => {
    await cgroupMembership(v1()).attach("/a", 5);
    assert.deepEqual(await Promise.all(["devices/a", "memory/a", "unified/a"].map(written)), ["5", "5", ""]);
  });

  it("v2: a process is moved in the one hierarchy", async () => {
    await cgroupMembership(v2()).attach("/a", 9);
    assert.equal(await written("v2/a"), "9");
  });

  it("one hierarchy that fails is reported after the others, a process that has exited is not", async () => {
    const failing = (code: string) => ({
      ...hostCgroupFiles,
      async write(file: string, text: string) {
        if (file.includes("memory")) throw Object.assign(new Error(code), { code });
        await hostCgroupFiles.write(file, text);
      },
    });
    await cgroupMembership(v1(), failing("ESRCH")).attach("/a", 6);
    await assert.rejects(cgroupMembership(v1(), failing("EINVAL")).attach("/a", 8), /EINVAL/);
    assert.equal(await written("devices/a"), "8");
  });

  it("a path cannot leave the hierarchy", async () => {
    for (const path of ["../a", "/../a", "/a/../..", ""])
      await assert.rejects(cgroupMembership(v1()).attach(path, 5), /not the absolute path/);
  });

  const skip = process.getuid?.() === 0 ? false : "only root can create cgroups";
  it("a real process is moved in all of this host's hierarchies", { skip }, async (t) => {
    const layout = await detectLayout();
    const filesystem = cgroupFilesystem(layout);
    const path = `/kubelet-ts-members-${process.pid}`;
    await filesystem.create(path, {});
    const child = spawn("sleep", ["1000"]);
    t.after(async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
      await filesystem.remove(path);
    });
    await cgroupMembership(layout).attach(path, child.pid!);
    const lines = readFileSync(`/proc/${child.pid}/cgroup`, "utf8").trim().split("\n");
    const counted = lines.filter((line) => layout.version === 2 || !line.startsWith("0::"));
    assert.ok(counted.length > 0);
    for (const line of counted) assert.ok(line.endsWith(`:${path}`), line);
  });
});
