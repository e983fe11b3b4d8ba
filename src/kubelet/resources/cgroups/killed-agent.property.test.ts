import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { CgroupfsManager } from "./cgroup-manager.ts";
import { FakeCgroupFilesystem } from "./fake-cgroup-filesystem.ts";
import { type LimitSettings, podCgroupLimits } from "./limits.ts";
import { createPodCgroups } from "./pod-cgroups.ts";

const limits: LimitSettings = {
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000n,
  podPidsLimit: 100n,
  podLevelResources: true,
  memoryQos: false,
  memoryReservationPolicy: "None",
  hugepageSizes: [],
};
const uids = ["a", "b", "c", "d"] as PodUid[];
const resources: Pod["spec"]["containers"][number]["resources"][] = [
  {},
  { requests: { cpu: "100m" } },
  { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "100m", memory: "64Mi" } },
];
const pods = uids.map(
  (uid, index): Pod =>
    fakePod({ metadata: { uid }, spec: { containers: [{ resources: resources[index % 3] }] } }),
);

/** Cgroups outlive an agent, which may be killed before any change, and between any two limits. */
class Kernel extends FakeCgroupFilesystem {
  /** Changes until the agent is killed. */
  left = Infinity;

  #step(): void {
    if (this.left-- <= 0) throw new Error("killed");
  }
  override async create(path: string, given: CgroupResources) {
    this.#step();
    await super.create(path, {});
    await this.update(path, given);
  }
  override async update(path: string, given: CgroupResources) {
    for (const [name, value] of Object.entries(given)) {
      this.#step();
      this.cgroups.set(path, { ...this.cgroups.get(path), [name]: value });
    }
  }
  override async remove(path: string) {
    this.#step();
    await super.remove(path);
  }
}

type Step = { kind: "add" | "remove"; pod: number } | { kind: "restart"; after: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom("add" as const, "remove" as const), pod: fc.nat(uids.length - 1) }),
  fc.record({ kind: fc.constant("restart" as const), after: fc.nat(12) }),
);

test("after any kills, desired pods have all of their limits, and no other pod has a cgroup", () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const kernel = new Kernel();
      const desired = new Set<Pod>();
      let agent = start(kernel);
      for (const each of steps) {
        if (each.kind === "restart") {
          agent = start(kernel);
          kernel.left = each.after;
          await agent.start().catch(isKilled);
          continue;
        }
        const pod = pods[each.pod]!;
        if (each.kind === "add") {
          desired.add(pod);
          await agent.ensure(pod).catch(isKilled);
        } else {
          desired.delete(pod);
          await agent.remove(pod.metadata.uid).catch(isKilled);
        }
      }
      kernel.left = Infinity;
      agent = start(kernel);
      await agent.start();
      for (const pod of desired) await agent.ensure(pod);
      // As housekeeping does.
      const desiredUids = new Set([...desired].map(({ metadata }) => metadata.uid));
      for (const uid of await agent.list()) if (!desiredUids.has(uid)) await agent.remove(uid);

      for (const pod of desired)
        assert.deepEqual(kernel.cgroups.get(agent.parentFor(pod)), podCgroupLimits(pod, limits));
      assert.equal(kernel.cgroups.size, 3 + desired.size);
      assert.equal(kernel.cgroups.get("/kubepods/besteffort")?.cpuShares, 2n);
    }),
  ));

function start(filesystem: Kernel) {
  return createPodCgroups({
    manager: new CgroupfsManager(filesystem),
    cgroupsPerQos: true,
    cgroupRoot: "/",
    limits,
    logger: silentLogger,
  });
}

/** Whatever an agent does after it was killed has no effect. */
function isKilled(error: unknown): void {
  assert.match(String(error), /killed/);
}
