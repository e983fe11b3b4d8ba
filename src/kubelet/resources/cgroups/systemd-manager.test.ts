import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import type { UnitProperty } from "../../../lib/clients/systemd/systemd-client.ts";
import { FakeUnified } from "../../../lib/host/cgroups/fake-unified.ts";
import { CgroupV2 } from "../../../lib/host/cgroups/v2.ts";
import { SystemdManager, type SystemdUnits } from "./systemd-manager.ts";

/** Creates and removes directories as systemd does, and records its calls. */
class FakeUnits implements SystemdUnits {
  readonly calls: [string, string, Record<string, unknown>?][] = [];
  onStop = async () => {};
  async version() {
    return 252;
  }
  async startTransientUnit(name: string, properties: readonly UnitProperty[]) {
    const wants = properties.find(([property]) => property === "Wants")?.[1].value;
    this.calls.push(["start", name, { wants }]);
  }
  async setUnitProperties(name: string, properties: readonly UnitProperty[]) {
    this.calls.push(["set", name, Object.fromEntries(properties.map(([key, { value }]) => [key, value]))]);
  }
  async stopUnit(name: string) {
    this.calls.push(["stop", name]);
    await this.onStop();
  }
}

describe("cgroups by systemd", () => {
  let root = "";
  let units: FakeUnits;
  let manager: SystemdManager;
  let killed: number[];
  const pod = ["kubepods", "burstable", "poda-b"];
  const dir = () => join(root, "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice");
  const read = async (file: string) => (await readFile(join(dir(), file), "utf8")).trim();

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), "systemd-manager-"));
    const files = await new FakeUnified(root).start("cpu memory pids hugetlb");
    units = new FakeUnits();
    killed = [];
    const kill = (pid: number) => {
      killed.push(pid);
      writeFileSync(join(dir(), "cgroup.procs"), "");
    };
    manager = new SystemdManager(new CgroupV2({ root, files, clock: systemClock, kill }), units);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("a cgroup is a slice below those of its parents", async () => {
    await manager.create(["kubepods"], {});
    await manager.create(pod, {});
    assert.deepEqual(units.calls, [
      ["start", "kubepods.slice", { wants: ["-.slice"] }],
      ["start", "kubepods-burstable-poda_b.slice", { wants: ["kubepods-burstable.slice"] }],
    ]);
    assert.equal(manager.pathOf(pod), dir().slice(root.length));
    assert.equal(await manager.exists(pod), true);
    assert.deepEqual(await manager.children(["kubepods", "burstable"]), [pod]);
  });

  it("limits are set in systemd and, with the same values, in the files", async () => {
    await manager.create(pod, {
      cpuShares: 1024n,
      cpuQuota: 12_345n,
      cpuPeriod: 100_000n,
      memory: 4096n,
      pids: 10n,
      hugepages: new Map([["2MB", 0n]]),
    });
    assert.deepEqual(units.calls[1], [
      "set",
      "kubepods-burstable-poda_b.slice",
      {
        MemoryMax: 4096n,
        CPUWeight: 39n,
        TasksMax: 10n,
        CPUQuotaPeriodUSec: 100_000n,
        CPUQuotaPerSecUSec: 130_000n,
      },
    ]);
    const written = await Promise.all(
      ["cpu.weight", "cpu.max", "memory.max", "pids.max", "hugetlb.2MB.max"].map(read),
    );
    assert.deepEqual(written, ["39", "13000 100000", "4096", "10", "0"]);
  });

  it("limits that only the files have do not reach systemd", async () => {
    await manager.create(pod, {});
    await manager.update(pod, { hugepages: new Map([["2MB", 7n]]) });
    assert.deepEqual(units.calls.slice(1), []);
    assert.equal(await read("hugetlb.2MB.max"), "7");
  });

  it("removal kills the processes, stops the slice, and then removes the directories that are left", async () => {
    await manager.create(pod, {});
    await writeFile(join(dir(), "cgroup.procs"), "4242\n");
    let killedBeforeStop = 0;
    units.onStop = async () => {
      killedBeforeStop = killed.length;
    };
    await manager.remove(pod);
    assert.deepEqual(units.calls.at(-1), ["stop", "kubepods-burstable-poda_b.slice"]);
    assert.deepEqual([killed, killedBeforeStop], [[4242], 1]);
    assert.equal(await manager.exists(pod), false);
    assert.deepEqual(await manager.children(["kubepods", "burstable"]), []);
  });

  it("a cgroup that does not exist is not stopped", async () => {
    await manager.remove(pod);
    assert.deepEqual(units.calls, []);
  });
});
