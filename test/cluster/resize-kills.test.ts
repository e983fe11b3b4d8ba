import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ResourceRequirements } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { rounds } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { NodeWithApi } from "./node-with-api.ts";
import { ResizedPod } from "./resized-pod.ts";

const resizePolicy = [{ resourceName: "memory", restartPolicy: "RestartContainer" }];

for (const many of rounds("RESIZE_ROUNDS", 5, 100))
  describeOnContainerd(
    "resizes of pods while the agent is killed",
    (version) => {
      test(`end with what was requested last, after ${many.count} of them`, {
        timeout: 1_200_000,
      }, async (t) => {
        const seed = Number(process.env.RESIZE_SEED ?? Date.now() % 1_000_000);
        t.diagnostic(`RESIZE_SEED=${seed}`);
        const random = seededRandom(seed);
        const pick = (from: number, to: number) => from + random.below(to - from + 1);
        const resources = (): ResourceRequirements => {
          const [cpu, memory] = [pick(10, 80) * 10, pick(16, 100) * 2];
          return {
            limits: { cpu: `${cpu}m`, memory: `${memory}Mi` },
            requests: { cpu: `${cpu / 10}m`, memory: `${memory / 2}Mi` },
          };
        };
        const node = await NodeWithApi.start(version);
        t.after(() => node.destroy());
        const pods = [
          { pod: await ResizedPod.start(node, "in-place", { resources: resources() }), last: resources() },
          {
            pod: await ResizedPod.start(node, "restarted", { resources: resources(), resizePolicy }),
            last: resources(),
          },
        ];
        const [inPlace] = await node.containersOf("in-place");
        let kills = 0;
        for (let round = 0; round < many.count; round++) {
          const one = pods[pick(0, 3) === 0 ? 1 : 0]!;
          one.last = resources();
          await one.pod.resize(one.last);
          // Sometimes in the middle of it, sometimes before or after.
          await pause(pick(0, 150));
          if (round !== 2 && pick(0, 15) > 0) continue;
          await node.agent.end("SIGKILL");
          kills++;
          node.startAgent();
          // Usually it gets to the resize before the next kill.
          if (pick(0, 3) > 0) await waitFor(async () => assert.ok(await node.agent.pods()));
        }
        // A pod that was never resized has the resources that it started with.
        for (const { pod, last } of pods) await pod.resize(last);
        // A container that was stopped before the kill, and recorded as started, may be in its restart back-off.
        for (const { pod, last } of pods) await pod.settled(last, 420_000);
        assert.equal((await node.containersOf("in-place"))[0]?.id, inPlace?.id, "it was restarted");
        t.diagnostic(`${kills} kills`);
      });
    },
    many,
  );
