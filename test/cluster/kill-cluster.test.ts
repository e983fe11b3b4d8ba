import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { waitFor } from "../e2e/wait-for.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { rounds } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { NodeWithApi, type RunningContainer } from "./node-with-api.ts";
import { RecordedWrites } from "./recorded-writes.ts";

const seed = Number(process.env.KILL_SEED ?? 20261115);
const steady = ["p0", "p1", "p2", "p3", "p4"];
const writers = 4;
const both = ["agent", "api"] as const;

/**
 * kill -9 of the agent, of the embedded API or of both at random moments, while clients write to the API. Acknowledged writes
 * exist afterwards, and no running container was restarted.
 */
function killed(version: ContainerdVersion, count: number): void {
  let apiNode: NodeWithApi;
  const { below } = seededRandom(seed);

  before(async () => {
    apiNode = await NodeWithApi.start(version);
    for (const name of steady) await apiNode.addPod(name);
    for (const name of steady) await apiNode.runs(name);
  });

  after(async () => {
    await apiNode?.destroy();
  });

  test("no acknowledged write is lost, and no pod is restarted", { timeout: 600_000 }, async (t) => {
    const writes = new RecordedWrites(apiNode.admin, seededRandom(seed + 1).below);
    const untouched = await steadyContainers();
    assert.deepEqual(untouched.map(({ pod }) => pod).sort(byText), steady);
    const kills = { agent: 0, api: 0 };
    let slowest = 0;
    for (let round = 0; round < count; round++) {
      const killed = [["agent"], ["api"], both][below(3)]! as readonly ("agent" | "api")[];
      const moment = below(500);
      const name = `new-${round}`;
      const end = new AbortController();
      try {
        const written = writes.run(writers, end.signal);
        written.catch(() => end.abort()); // reported where it is awaited
        // A pod is created at the same time.
        await apiNode.addPod(name);
        await pause(moment);
        await Promise.all(
          killed.map((process) => (process === "agent" ? apiNode.agent.end("SIGKILL") : apiNode.api.kill())),
        );
        for (const process of killed) kills[process]++;
        await pause(below(200));
        const backAt = Date.now();
        for (const process of below(2) ? killed : killed.toReversed()) {
          if (process === "agent") apiNode.startAgent();
          else apiNode.api.start();
          await pause(below(300));
        }
        await waitFor(() => apiNode.get("/version"));
        end.abort();
        await written;
        await writes.check();
        await apiNode.runs(name, 60_000);
        slowest = Math.max(slowest, Date.now() - backAt);
        assert.equal((await apiNode.containersOf(name)).length, 1, `${name} runs once`);
        await apiNode.deletePod(name);
        await apiNode.isGone(name);
        assert.deepEqual(await steadyContainers(), untouched, "a pod was restarted");
      } catch (error) {
        t.diagnostic(`round ${round}, ${killed.join(" and ")} killed after ${moment} ms, seed ${seed}`);
        t.diagnostic(apiNode.agent.log().split("\n").slice(-30).join("\n"));
        t.diagnostic((await apiNode.api.log()).split("\n").slice(-15).join("\n"));
        throw error;
      } finally {
        end.abort();
      }
    }
    for (const name of steady) {
      const { status } = await apiNode.runs(name);
      assert.equal(status?.containerStatuses?.[0]?.restartCount, 0, name);
    }
    const { acknowledged, unacknowledged } = writes;
    t.diagnostic(`agent killed ${kills.agent} times, API ${kills.api} times`);
    t.diagnostic(`${acknowledged} writes acknowledged, ${unacknowledged} without a response`);
    t.diagnostic(`at most ${slowest} ms from a restart to a running pod`);
    assert.ok(acknowledged > count * 10, `only ${acknowledged} writes`);
    assert.ok(unacknowledged > 0, "no write was in progress when the API was killed");
  });

  async function steadyContainers(): Promise<RunningContainer[]> {
    const found = (await apiNode.running()).filter(({ pod }) => steady.includes(pod));
    return found.sort((a, b) => byText(a.pod, b.pod));
  }
}

for (const some of rounds("KILL_ROUNDS", 8, 12))
  describeOnContainerd(
    `agent and API killed at random moments, ${some.count} rounds with seed ${seed}`,
    (version) => killed(version, some.count),
    some,
  );

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
