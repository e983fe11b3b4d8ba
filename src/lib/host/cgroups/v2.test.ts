import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FakeClock, settle } from "../../base/fake-clock.ts";
import { FakeUnified } from "./fake-unified.ts";
import { CgroupV2 } from "./v2.ts";

/** Advances time only while something waits: the directories are real, and real work takes real time. */
async function drive<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  work.then(end, end);
  while (!ended) await (clock.pending > 0 ? clock.advance(100) : settle());
  return work;
}

describe("cgroup v2", () => {
  let dir: string;
  let count = 0;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "cgroup2-"));
  });
  after(() => rm(dir, { recursive: true }));

  async function setUp(controllers = "cpuset cpu io memory pids") {
    const root = join(dir, String(count++));
    const files = await new FakeUnified(root).start(controllers);
    const clock = new FakeClock();
    const killed: number[] = [];
    const kill = (pid: number) => {
      killed.push(pid);
    };
    const filesystem = new CgroupV2({ root, files, clock, kill });
    const text = async (path: string) => (await readFile(join(root, path), "utf8")).trim();
    return { root, files, clock, killed, filesystem, text };
  }

  it("delegates the controllers that pods need to a new cgroup, and no others", async () => {
    const { filesystem, text } = await setUp();
    await filesystem.create("/kubepods/burstable", {});
    assert.equal(await text("cgroup.subtree_control"), "cpu cpuset memory pids");
    assert.equal(await text("kubepods/cgroup.subtree_control"), "cpu cpuset memory pids");
    assert.equal(await text("kubepods/burstable/cgroup.subtree_control"), "");
    assert.equal(await filesystem.exists("/kubepods/burstable"), true);
  });

  it("delegates the others when the kernel rejects one, and fails when it rejects all", async () => {
    const { root, files, clock, text } = await setUp();
    const refuse = (pattern: RegExp) => {
      const write = async (file: string, value: string) => {
        if (pattern.test(value)) throw Object.assign(new Error("busy"), { code: "EBUSY" });
        await files.write(file, value);
      };
      const { read, dirs, mkdir, rmdir, exists } = files;
      const picky = { read, dirs, exists, write, mkdir: mkdir.bind(files), rmdir: rmdir.bind(files) };
      return new CgroupV2({ root, files: picky, clock });
    };
    await assert.rejects(refuse(/\+/).create("/p", {}), { code: "EBUSY" });
    await refuse(/\+cpuset/).create("/p", {});
    assert.equal(await text("p/cgroup.controllers"), "cpu memory pids");
  });

  it("needs one directory and one read if its parent delegates all", async () => {
    const { root, files, filesystem } = await setUp();
    await filesystem.create("/kubepods/burstable/a", {});
    const used: string[] = [];
    const counted = new CgroupV2({
      root,
      files: Object.assign(Object.create(files) as FakeUnified, {
        read: (file: string) => {
          used.push(`read ${file}`);
          return files.read(file);
        },
        mkdir: (path: string) => {
          used.push(`mkdir ${path}`);
          return files.mkdir(path);
        },
      }),
    });
    await counted.create("/kubepods/burstable/b", {});
    assert.deepEqual(used, [
      `read ${join(root, "kubepods/burstable/cgroup.subtree_control")}`,
      `read ${join(root, "cgroup.controllers")}`,
      `mkdir ${join(root, "kubepods/burstable/b")}`,
    ]);
    assert.equal(await filesystem.exists("/kubepods/burstable/b"), true);
  });

  it("does not exist without its controllers", async () => {
    const { root, filesystem, files } = await setUp();
    await files.mkdir(join(root, "bare"));
    assert.equal(await filesystem.exists("/bare"), false);
    assert.equal(await filesystem.exists("/none"), false);
    assert.deepEqual(await filesystem.missingControllers("/bare"), ["cpu", "cpuset", "memory", "pids"]);
    assert.equal(await filesystem.missingControllers("/none"), undefined);
  });

  const written: [rule: string, file: string, want: string, resources: object][] = [
    ["shares become a weight", "cpu.weight", "4", { cpuShares: 102n }],
    ["quota and period are one line", "cpu.max", "20000 100000", { cpuQuota: 20_000n, cpuPeriod: 100_000n }],
    ["an unlimited quota is max", "cpu.max", "max 100000", { cpuQuota: -1n }],
    ["memory", "memory.max", "1024", { memory: 1024n }],
    ["unlimited memory is max", "memory.max", "max", { memory: -1n }],
    ["pids", "pids.max", "7", { pids: 7n }],
    ["cpuset", "cpuset.cpus", "0-1", { cpuset: "0-1" }],
    ["other files as they are", "memory.low", "5", { unified: { "memory.low": "5" } }],
  ];
  for (const [rule, file, want, resources] of written) {
    it(`writes ${rule}`, async () => {
      const { filesystem, text } = await setUp();
      await filesystem.create("/p", resources);
      assert.equal(await text(`p/${file}`), want);
    });
  }

  it("writes huge page limits where the kernel has them, and nothing where not", async () => {
    const hugepages = new Map([["2MB", 0n]]);
    const without = await setUp();
    await without.filesystem.create("/p", { hugepages });
    const { filesystem, text } = await setUp("cpu hugetlb");
    await filesystem.create("/p", { hugepages });
    assert.equal(await text("p/hugetlb.2MB.max"), "0");
  });

  it("does not change unspecified values", async () => {
    const { filesystem, text } = await setUp();
    await filesystem.create("/p", { memory: 1n });
    await filesystem.update("/p", { pids: 2n });
    assert.deepEqual(
      [await text("p/memory.max"), await text("p/cpu.max"), await text("p/pids.max")],
      ["1", "max 100000", "2"],
    );
  });

  it("lists processes of the cgroup and below, never 0", async () => {
    const { root, filesystem } = await setUp();
    await filesystem.create("/p/c", {});
    await writeFile(join(root, "p/cgroup.procs"), "30\n0\n");
    await writeFile(join(root, "p/c/cgroup.procs"), "7\n30\n");
    assert.deepEqual(await filesystem.pids("/p"), [7, 30]);
  });

  it("kills its processes, waits while it is busy, and removes it", async () => {
    const { root, filesystem, files, clock, killed } = await setUp();
    await filesystem.create("/p/c", {});
    await filesystem.create("/q", {});
    await writeFile(join(root, "p/c/cgroup.procs"), "4242\n");
    await writeFile(join(root, "q/cgroup.procs"), "4343\n");
    files.busy.set(join(root, "p"), 3);
    const removal = filesystem.remove("/p");
    while (clock.pending === 0) await settle();
    assert.deepEqual(killed, [4242]);
    await writeFile(join(root, "p/c/cgroup.procs"), "");
    await drive(clock, removal);
    assert.deepEqual(await filesystem.children("/"), ["q"]);
  });

  it("kills its processes without removing it, and waits until they have ended", async () => {
    const { root, filesystem, clock, killed } = await setUp();
    await filesystem.create("/p/c", {});
    await writeFile(join(root, "p/c/cgroup.procs"), "4242\n");
    const empty = filesystem.killAll("/p");
    while (clock.pending === 0) await settle();
    assert.deepEqual(killed, [4242]);
    await writeFile(join(root, "p/c/cgroup.procs"), "");
    await drive(clock, empty);
    assert.deepEqual(await filesystem.children("/p"), ["c"]);
    await writeFile(join(root, "p/c/cgroup.procs"), "4242\n");
    const failed = assert.rejects(
      filesystem.killAll("/p", { timeoutMs: 1000 }),
      /processes 4242 did not exit/,
    );
    await drive(clock, failed);
    await filesystem.killAll("/none");
  });

  it("fails after its timeout and names the processes that did not exit", async () => {
    const { root, filesystem, clock } = await setUp();
    await filesystem.create("/p", {});
    await writeFile(join(root, "p/cgroup.procs"), "4242\n");
    const removal = filesystem.remove("/p", { timeoutMs: 1000 }).then(
      () => "removed",
      (error: Error) => error.message,
    );
    const result = await drive(clock, removal);
    assert.match(result, /cannot remove cgroup .*\/p: processes 4242 did not exit/);
  });

  it("stops retrying when aborted", async () => {
    const { root, filesystem, clock } = await setUp();
    await filesystem.create("/p", {});
    await writeFile(join(root, "p/cgroup.procs"), "4242\n");
    const controller = new AbortController();
    const removal = filesystem.remove("/p", { signal: controller.signal });
    const failed = assert.rejects(removal, { name: "AbortError" });
    while (clock.pending === 0) await settle();
    controller.abort();
    await failed;
  });

  it("never kills this process", async () => {
    const { root, filesystem, killed } = await setUp();
    await filesystem.create("/p", {});
    await writeFile(join(root, "p/cgroup.procs"), `4242\n${process.pid}\n`);
    await assert.rejects(filesystem.remove("/p"), /this process runs in it/);
    assert.deepEqual(killed, []);
  });

  it("removing a missing cgroup is not an error", async () => {
    const { filesystem } = await setUp();
    await filesystem.remove("/none");
    assert.deepEqual(await filesystem.children("/none"), []);
  });

  for (const path of ["/", "", "p", "/../p", "/p/..", "//p"]) {
    it(`rejects ${JSON.stringify(path)} as a cgroup`, async () => {
      const { filesystem } = await setUp();
      await assert.rejects(filesystem.create(path, {}), { code: "InvalidCgroup" });
      await assert.rejects(filesystem.remove(path), { code: "InvalidCgroup" });
    });
  }
});
