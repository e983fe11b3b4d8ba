import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "../../../../lib/base/clock.ts";
import { type Logger, silentLogger } from "../../../../lib/base/logger.ts";
import type { ProjectQuotas } from "../../../../lib/host/project-quotas.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import { DiskQuotas } from "./disk-quotas.ts";
import { ProjectReservations } from "./project-reservations.ts";

const isolated = fakePod({ spec: { hostUsers: false } });

async function setUp(t: TestContext) {
  const etc = await mkdtemp(join(tmpdir(), "quotas-"));
  t.after(() => rm(etc, { recursive: true }));
  const projects = new Map<string, number>();
  const usage = new Map<number, { bytes: number; inodes: number }>();
  const warnings: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => void warnings.push(`${message}: ${fields?.err}`),
  };
  const state = { counting: true };
  const quotas: ProjectQuotas = {
    isCounting: async () => state.counting,
    projectOf: async (dir) => projects.get(dir) ?? 0,
    setProject: async (dir, project) => void projects.set(dir, project),
    usageOf: async (_, project) => usage.get(project) ?? { bytes: 0, inodes: 0 },
  };
  const create = () =>
    new DiskQuotas({ quotas, reservations: new ProjectReservations(etc, systemClock), logger });
  const file = (name: string) => readFile(join(etc, name), "utf8").catch(() => undefined);
  return { etc, projects, usage, warnings, state, quotas, create, file };
}

describe("disk quotas", () => {
  it("the kernel counts the usage of a volume in a user namespace, and its project is reserved", async (t) => {
    const { create, projects, usage, file } = await setUp(t);
    const quotas = create();
    await quotas.assign("/v", isolated, { isEmpty: true });
    assert.equal(projects.get("/v"), 1_048_577);
    usage.set(1_048_577, { bytes: 4096, inodes: 1 });
    assert.deepEqual(await quotas.usage("/v"), { bytes: 4096, inodes: 1 });
    assert.equal(await file("projects"), "1048577:/v\n");
    assert.equal(await file("projid"), "volume1048577:1048577\n");
  });

  it("volumes that are set up together have different projects", async (t) => {
    const { create, projects } = await setUp(t);
    const quotas = create();
    const dirs = ["/a", "/b", "/c", "/d"];
    await Promise.all(dirs.map((dir) => quotas.assign(dir, isolated, { isEmpty: true })));
    assert.equal(new Set(dirs.map((dir) => projects.get(dir))).size, 4);
  });

  it("a restarted agent finds the project of a volume", async (t) => {
    const { create, usage } = await setUp(t);
    await create().assign("/v", isolated, { isEmpty: true });
    usage.set(1_048_577, { bytes: 8192, inodes: 2 });
    const next = create();
    assert.equal(await next.usage("/v"), undefined);
    await next.assign("/v", isolated, { isEmpty: false });
    assert.deepEqual(await next.usage("/v"), { bytes: 8192, inodes: 2 });
  });

  it("a released project is free again, even for a restarted agent", async (t) => {
    const { create, projects, file } = await setUp(t);
    await create().assign("/v", isolated, { isEmpty: true });
    const next = create();
    await next.release("/v");
    assert.equal(projects.get("/v"), 0);
    assert.deepEqual([await file("projects"), await file("projid")], ["", ""]);
    assert.equal(await next.usage("/v"), undefined);
  });

  it("the directory of a released project may be gone", async (t) => {
    const { create, quotas, file, warnings } = await setUp(t);
    const disk = create();
    await disk.assign("/v", isolated, { isEmpty: true });
    quotas.setProject = () =>
      Promise.reject(Object.assign(new Error("no such directory"), { code: "ENOENT" }));
    await disk.release("/v");
    assert.deepEqual([await file("projects"), warnings], ["", []]);
  });

  for (const [rule, pod, isEmpty, counting] of [
    ["without a user namespace", fakePod({}), true, true],
    ["on a filesystem that does not count", isolated, true, false],
    ["with files from before the gate was enabled", isolated, false, true],
  ] as const)
    it(`a volume ${rule} has no project, and nothing is reserved`, async (t) => {
      const { create, projects, state, file, warnings } = await setUp(t);
      state.counting = counting;
      const quotas = create();
      await quotas.assign("/v", pod, { isEmpty });
      assert.equal(projects.size, 0);
      assert.equal(await quotas.usage("/v"), undefined);
      assert.ok(!(await file("projects")));
      await quotas.release("/v");
      assert.deepEqual(warnings, []);
    });

  it("a failure is logged once, and volumes are measured otherwise", async (t) => {
    const { etc, create, projects, warnings } = await setUp(t);
    await writeFile(join(etc, "other"), "");
    await symlink(join(etc, "other"), join(etc, "projid"));
    const quotas = create();
    for (const dir of ["/a", "/b"]) await quotas.assign(dir, isolated, { isEmpty: true });
    assert.equal(projects.size, 0);
    assert.deepEqual(warnings, [
      `Failed to assign project quota, measuring volumes by reading their directories: ${join(etc, "projid")} exists but is not a plain file, cannot continue`,
    ]);
  });
});
