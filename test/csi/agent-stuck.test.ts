import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { CsiTestNode } from "./csi-test-node.ts";
import type { DriverProcess } from "./driver-process.ts";

const available = containerdVersions().find(({ name }) => name === "2.x")?.available;
const podsPerRound = 4;
const stuckPods = 6;

describe("a CSI driver that never responds", { skip: available === true ? false : available }, () => {
  let testNode: CsiTestNode;
  let stuck: DriverProcess;
  let rounds = 0;

  before(async () => {
    testNode = await CsiTestNode.start("2.x");
    await (await testNode.driver("good.example.com", {})).start();
    stuck = await testNode.driver("stuck.example.com", {});
    await stuck.start();
  });
  after(async () => {
    await testNode?.destroy();
  });

  /** The median time from creation to ready of pods with a volume of the working driver, in milliseconds. */
  const round = async (): Promise<number> => {
    const names = Array.from({ length: podsPerRound }, (_, i) => `good-${rounds}-${i}`);
    rounds++;
    const times = await Promise.all(
      names.map(async (name) => {
        const began = Date.now();
        await testNode.pod(name, { csi: { driver: "good.example.com" } });
        await testNode.apiNode.runs(name, 60_000);
        return Date.now() - began;
      }),
    );
    for (const name of names) await testNode.apiNode.deletePod(name);
    for (const name of names) await testNode.apiNode.isGone(name);
    return times.sort((a, b) => a - b)[podsPerRound >> 1]!;
  };
  /** The faster of two rounds: other load may slow down one of them. */
  const bestOfTwo = async () => Math.min(await round(), await round());

  test("blocks neither pods with volumes of other drivers, nor stats, nor the registration of others", async (t) => {
    await round(); // warm-up
    const without = await bestOfTwo();

    // One pod has its volume already, and its stats hang. The others hang at each step.
    await testNode.pod("measured", { csi: { driver: "stuck.example.com" } });
    await testNode.apiNode.runs("measured");
    const hang = Object.fromEntries(
      ["NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeGetVolumeStats"].map((method) => [
        method,
        "hang" as const,
      ]),
    );
    await stuck.faults(hang);
    for (let i = 0; i < stuckPods; i++) {
      const name = `stuck-${i}`;
      if (i % 2) await testNode.pod(name, { csi: { driver: "stuck.example.com" } });
      else {
        await testNode.claim("stuck.example.com", name);
        await testNode.podWithClaim(name);
      }
    }
    const silent = await testNode.driver("silent.example.com", {});
    await silent.faults({ GetInfo: "hang" });
    await silent.start();
    await waitFor(async () => {
      const calls = (await stuck.calls()).map(({ method }) => method);
      assert.ok(calls.includes("NodeStageVolume") && calls.includes("NodePublishVolume"));
      assert.ok((await silent.calls("GetInfo")).length > 0);
    });

    let withStuck = await bestOfTwo();
    // Processes of other tests change; hung ones are present in every round.
    for (let i = 0; i < 3 && withStuck >= 2 * without; i++) withStuck = await bestOfTwo();
    t.diagnostic(`without ${without} ms, with ${stuckPods} pods that hang ${withStuck} ms`);
    assert.ok(withStuck < 2 * without, `${withStuck} ms, ${without} ms without`);

    const { pods } = JSON.parse(await testNode.request("/stats/summary"));
    assert.ok(pods.some(({ podRef }: { podRef: { name: string } }) => podRef.name === "measured"));
    assert.ok((await stuck.calls("NodeGetVolumeStats")).length > 0);
    await (await testNode.driver("late.example.com", {})).start();
    await testNode.pod("late", { csi: { driver: "late.example.com" } });
    await testNode.apiNode.runs("late");

    // They can be deleted although no volume existed yet: the driver has to confirm that.
    await stuck.faults({});
    await stuck.kill();
    await stuck.start();
    for (let i = 0; i < stuckPods; i++) await testNode.apiNode.runs(`stuck-${i}`);
  });
});
