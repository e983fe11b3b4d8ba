import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hasSwapAccounting, readHugepageSizes } from "./host-info.ts";
import { checkControllers, parseLayout } from "./layout.ts";
import { sharesToWeight, weightToShares } from "./weight.ts";

const v1 = (dir: string, options: string) =>
  `32 31 0:29 / ${dir} rw,relatime shared:5 - cgroup cgroup rw,${options}`;
const v2 = (dir: string) => `41 31 0:38 / ${dir} rw,relatime - cgroup2 cgroup2 rw`;
const tmpfs = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755";

describe("parseLayout", () => {
  it("one cgroup2 at the usual path is v2", () => {
    assert.deepEqual(parseLayout(v2("/sys/fs/cgroup")), { version: 2, root: "/sys/fs/cgroup" });
  });
  it("controllers on v1 are v1, even with a cgroup2 mount (hybrid)", () => {
    const text = [
      tmpfs,
      v1("/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct"),
      v1("/sys/fs/cgroup/systemd", "xattr,name=systemd"),
      v2("/sys/fs/cgroup/unified"),
    ];
    const layout = parseLayout(text.join("\n"));
    assert.equal(layout.version, 1);
    assert.deepEqual(layout.version === 1 && Object.fromEntries(layout.mounts), {
      cpu: "/sys/fs/cgroup/cpu,cpuacct",
      cpuacct: "/sys/fs/cgroup/cpu,cpuacct",
      systemd: "/sys/fs/cgroup/systemd",
      unified: "/sys/fs/cgroup/unified",
    });
  });
  it("a name=systemd hierarchy alone does not make a host v1", () => {
    assert.equal(parseLayout([v1("/run/systemd-v1", "name=systemd"), v2("/mnt/cg")].join("\n")).version, 2);
  });
  it("the shortest of several mount points is used", () => {
    const layout = parseLayout(
      [v1("/var/lib/x/cpu", "cpu"), v1("/cg/cpu", "cpu"), v1("/var/lib/y/cpu", "cpu")].join("\n"),
    );
    assert.equal(layout.version === 1 && layout.mounts.get("cpu"), "/cg/cpu");
  });
  it("a path with spaces is read", () => {
    const layout = parseLayout(v2("/my\\040cgroups"));
    assert.equal(layout.version === 2 && layout.root, "/my cgroups");
  });
  it("no hierarchy at all is reported", () =>
    assert.throws(() => parseLayout(tmpfs), { code: "NotSupported" }));
});

describe("weights", () => {
  const rows: [shares: bigint, weight: bigint][] = [
    [0n, 1n],
    [2n, 1n],
    [102n, 4n],
    [1024n, 39n],
    [262_144n, 10_000n],
    [10n ** 9n, 10_000n],
  ];
  for (const [shares, weight] of rows) {
    it(`${shares} shares are a weight of ${weight}`, () => assert.equal(sharesToWeight(shares), weight));
  }
  it("convert back at both ends", () =>
    assert.deepEqual([weightToShares(1n), weightToShares(10_000n)], [2n, 262_144n]));
});

describe("host info", () => {
  it("page sizes are named as the controller does, smallest first", async () => {
    const dir = await mkdtemp(join(tmpdir(), "hugepages-"));
    try {
      for (const name of ["hugepages-1048576kB", "hugepages-2048kB", "hugepages-64kB"])
        await mkdir(join(dir, name));
      assert.deepEqual(await readHugepageSizes(dir), ["64KB", "2MB", "1GB"]);
      assert.deepEqual(await readHugepageSizes(join(dir, "none")), []);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
  it("swap can be limited where the kernel has the file for it", async () => {
    const dir = await mkdtemp(join(tmpdir(), "swap-"));
    try {
      const v1Layout = { version: 1 as const, mounts: new Map([["memory", dir]]) };
      const self = join(dir, "self");
      await writeFile(self, "1:name=systemd:/\n0::/me\n");
      await mkdir(join(dir, "me"));
      assert.equal(await hasSwapAccounting(v1Layout), false);
      assert.equal(await hasSwapAccounting({ version: 2, root: dir }, self), false);
      await writeFile(join(dir, "memory.memsw.limit_in_bytes"), "");
      await writeFile(join(dir, "me/memory.swap.max"), "");
      assert.equal(await hasSwapAccounting(v1Layout), true);
      assert.equal(await hasSwapAccounting({ version: 2, root: dir }, self), true);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});

it("a v1 host without a controller that pods need is rejected, and all that are missing are named", () => {
  const mounts = new Map(["cpu", "cpuset", "pids"].map((name) => [name, `/sys/fs/cgroup/${name}`]));
  assert.throws(() => checkControllers({ version: 1, mounts }), {
    message: "system validation failed - Following Cgroup subsystem not mounted: [cpuacct memory]",
  });
  for (const name of ["cpuacct", "memory"]) mounts.set(name, `/sys/fs/cgroup/${name}`);
  checkControllers({ version: 1, mounts });
  checkControllers({ version: 2, root: "/sys/fs/cgroup" });
});
