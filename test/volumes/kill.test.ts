import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Pod } from "../../src/lib/model/pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { podsPath } from "../cluster/node-with-api.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { rounds } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { boundVolume, onNode } from "./persistent.ts";
import { VolumeNode, type VolumePod } from "./volume-node.ts";

const seed = Number(process.env.KILL_SEED ?? 20261115);
const podsPerRound = 4;
/** On an idle machine, all pods of a round have started and all pods of the previous round are gone within this time. */
const roundMs = 1500;

const token = { serviceAccountToken: { path: "token", expirationSeconds: 600 } };
const pod: VolumePod = {
  spec: {
    volumes: [
      { name: "secret", secret: { secretName: "all" } },
      { name: "config", configMap: { name: "all" } },
      { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      { name: "disk", emptyDir: {} },
      { name: "projected", projected: { sources: [token, { secret: { name: "all" } }] } },
      { name: "local", persistentVolumeClaim: { claimName: "local" } },
    ] as never,
    containers: [
      {
        volumeMounts: [
          ...["secret", "config", "memory", "disk", "projected", "local"].map((name) => ({
            name,
            mountPath: `/v/${name}`,
          })),
          { name: "disk", mountPath: "/part", subPath: "a/b" },
          { name: "memory", mountPath: "/part-in-memory", subPath: "c" },
        ],
      },
    ],
  },
};

/** kill -9 of the agent at random moments, while volumes are mounted and unmounted. */
function killed(version: ContainerdVersion, count: number): void {
  let n: VolumeNode;
  const random = seededRandom(seed);

  before(async () => {
    n = await VolumeNode.start(version);
    await n.secret("all", { k: "secret" });
    await n.configMap("all", { k: "config" });
    await mkdir(join(n.dir, "local"));
    await boundVolume(n, "local", { local: { path: join(n.dir, "local") }, ...onNode(nodeName) });
  });

  after(() => n?.destroy());

  const remove = (name: string, now: boolean) =>
    n.apiNode.admin.request({
      method: "DELETE",
      path: `${podsPath}/${name}`,
      ...(now && { query: { gracePeriodSeconds: "0" } }),
    });
  /** All volumes of the pod can be read and written. */
  const canUseVolumes = async (name: string) => {
    await n.runs(name, 90_000);
    const script =
      "cat /v/secret/k /v/config/k /v/projected/k && test -s /v/projected/token && echo >/v/memory/x >/part/x >/part-in-memory/x";
    assert.equal(await n.inside(name, script), "secretconfigsecret");
  };

  test("after every kill, pods have all of their volumes, and nothing remains of removed pods", async (t) => {
    let running: Pod[] = [];
    const killedAfterMs: number[] = [];
    for (let round = 0; round < count; round++) {
      const previous = running;
      running = [];
      for (let i = 0; i < podsPerRound; i++) running.push(await n.addPod(`p-${round}-${i}`, pod));
      for (const [index, { metadata }] of previous.entries()) await remove(metadata.name, index % 2 === 0);
      killedAfterMs.push(random.below(roundMs));
      await pause(killedAfterMs.at(-1)!);
      await n.apiNode.agent.end("SIGKILL");
      n.apiNode.startAgent();
      for (const { metadata } of running) await canUseVolumes(metadata.name);
      for (const each of previous) await n.isGone(each);
    }
    t.diagnostic(`killed after ${killedAfterMs.join(", ")} ms`);
    for (const { metadata } of running) await remove(metadata.name, false);
    await pause(random.below(roundMs));
    await n.apiNode.agent.end("SIGKILL");
    n.apiNode.startAgent();
    for (const each of running) await n.isGone(each);
    await waitFor(() => assert.deepEqual([...n.mountIds().keys()], []));
  });
}

for (const some of rounds("VOLUME_KILL_ROUNDS", 2, 8))
  describeOnContainerd(
    `volumes of an agent that is killed, ${some.count} rounds with seed ${seed}`,
    (version) => killed(version, some.count),
    some,
  );
