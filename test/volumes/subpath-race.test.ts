import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { VolumeNode } from "./volume-node.ts";

/** Containers that mount the subPath; each is one attempt. `SUBPATH_RACE_CONTAINERS=2000` takes half an hour. */
const attempts = Number(process.env.SUBPATH_RACE_CONTAINERS ?? 40);
const containersPerPod = 20;
const marker = `/escaped-${process.pid}`;

describeOnContainerd("a subPath that another container swaps for a symlink to /", (version) => {
  let n: VolumeNode;

  before(async () => {
    n = await VolumeNode.start(version);
    await mkdir(join(n.dir, "shared/part"), { recursive: true });
  });
  after(async () => {
    rmSync(marker, { force: true });
    await n?.destroy();
  });

  it(`never leads out of the volume, in ${attempts} containers that mount it`, async (t) => {
    const volumes = [{ name: "v", hostPath: { path: join(n.dir, "shared") } }];
    // The path is the directory, the symlink, or briefly missing.
    const swap = "cd /v; while :; do mv part kept; ln -s / part; rm part; mv kept part; done";
    await n.addPod("attacker", {
      spec: {
        volumes,
        containers: [{ command: ["sh", "-c", swap], volumeMounts: [{ name: "v", mountPath: "/v" }] }],
      },
    });
    await n.runs("attacker");
    const counts = { containers: 0, rejected: 0 };
    for (let first = 0; first < attempts; first += containersPerPod) {
      const name = `victim-${first}`;
      const containers = Array.from({ length: Math.min(containersPerPod, attempts - first) }, (_, index) => ({
        name: `c${index}`,
        // The mount must be the volume's own directory: at / it would create the marker, and have a /proc.
        command: ["sh", "-c", `touch /m${marker}; test ! -e /m/proc`],
        volumeMounts: [{ name: "v", mountPath: "/m", subPath: "part" }],
      }));
      const pod = await n.addPod(name, { spec: { volumes, containers, restartPolicy: "Never" } });
      const statuses = await waitFor(async () => {
        const found = (await n.apiNode.pod(name)).status?.containerStatuses ?? [];
        assert.equal(found.length, containers.length);
        // A container that cannot be created is retried until it can.
        for (const { state } of found) assert.ok(state?.terminated, JSON.stringify(state));
        return found;
      }, 120_000);
      for (const { state: { terminated } = {} } of statuses) {
        // The subPath may be missing when the runtime mounts it: then the container does not start.
        if (terminated?.reason === "StartError") counts.rejected++;
        else assert.equal(terminated?.exitCode, 0, JSON.stringify(terminated));
      }
      counts.rejected += (await n.eventsOf(name, "Failed")).length;
      counts.containers += statuses.length;
      await n.deletePod(name);
      await n.isGone(pod);
      assert.ok(!existsSync(marker), "a container wrote to the node's own /");
    }
    t.diagnostic(JSON.stringify(counts));
    assert.equal(counts.containers, attempts);
    assert.ok(counts.rejected > 0, "there was no race");
  });
});
