import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { PodSpecInit } from "../e2e/manifests.ts";
import { busyboxName } from "../node/test-node.ts";
import { observedPods } from "../takeover/compare/observed-pods.ts";
import { type CgroupValues, podCgroup, readCgroups } from "./guest-cgroups.ts";
import { GuestNode } from "./guest-node.ts";
import { describeOnMachine } from "./on-machine.ts";

type Recorded = Readonly<
  Record<string, { qos: "Guaranteed" | "Burstable" | "BestEffort"; values: CgroupValues }>
>;

/** The slices of pods of a kubelet v1.36.4, with cgroup v2 and systemd. */
const recorded: Recorded = JSON.parse(
  readFileSync(new URL("../fixtures/odd-nodes/cgroup-v2-systemd.json", import.meta.url), "utf8"),
);

describeOnMachine("slices of pods as the reference kubelet's were recorded", () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({ driver: "systemd", withApi: true, config: { podPidsLimit: 512 } });
  });
  after(() => node?.stop());

  test(`${Object.keys(recorded).length} pods have the recorded limits on cgroup v2 with systemd`, async () => {
    const { pods } = observedPods(busyboxName);
    const uids = new Map<string, string>();
    for (const { metadata, spec } of pods) {
      if (!(metadata.name in recorded)) continue;
      const added = await node.api.addPod(metadata.name, spec as unknown as PodSpecInit);
      uids.set(metadata.name, added.metadata.uid);
    }
    for (const [name, { qos, values }] of Object.entries(recorded)) {
      await node.waitFor(async () => {
        const pod = await node.api.pod(name);
        assert.equal(pod?.status?.phase, "Running", `${name}: ${JSON.stringify(pod?.status)}`);
      }, 180_000);
      const path = podCgroup("systemd", qos, uids.get(name)!);
      const cgroups = await readCgroups(node.machine, path);
      assert.deepEqual(cgroups.get(path), values, name);
    }
  });
});
