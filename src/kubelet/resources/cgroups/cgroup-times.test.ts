import assert from "node:assert/strict";
import { it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import type { CgroupManager } from "./cgroup-manager.ts";
import { timedCgroups } from "./cgroup-times.ts";

// parity: metric /metrics kubelet_cgroup_manager_duration_seconds
it("cgroup operations are timed by type, including those that fail", async () => {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const done: string[] = [];
  const work = (what: string, ms: number) => async (name: readonly string[]) => {
    done.push(`${what} ${name.join("/")}`);
    await clock.advance(ms);
    if (name[0] === "bad") throw new Error("busy");
  };
  const manager = {
    version: 2,
    create: work("create", 20),
    update: work("update", 0),
    remove: work("remove", 3000),
  } as unknown as CgroupManager;
  const timed = timedCgroups(manager, metrics, clock);
  await timed.create(["a"], {});
  await timed.update(["a"], {});
  await assert.rejects(timed.remove(["bad"]), /busy/);
  assert.deepEqual(done, ["create a", "update a", "remove bad"]);
  const text = await metrics.registry.metrics();
  for (const [kind, sum] of [
    ["create", 0.02],
    ["update", 0],
    ["destroy", 3],
  ])
    assert.match(
      text,
      new RegExp(`^kubelet_cgroup_manager_duration_seconds_sum\\{operation_type="${kind}"\\} ${sum}$`, "m"),
    );
});
