import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { holds } from "../e2e/holds.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { rounds } from "../long.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { NodeWithApi, type Ran } from "./node-with-api.ts";
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
  let whole: NodeWithApi;
  const { below } = seededRandom(seed);

  before(async () => {
    whole = await NodeWithApi.start(version);
    for (const name of steady) await whole.addPod(name);
    for (const name of steady) await whole.runs(name);
  });

  after(async () => {
    await whole?.destroy();
  });

  test("no acknowledged write is lost, and no pod is restarted", { timeout: 600_000 }, async (t) => {
    const writes = new RecordedWrites(whole.admin, seededRandom(seed + 1).below);
    const untouched = await ofSteady();
    assert.deepEqual(untouched.map(({ pod }) => pod).sort(byText), steady);
    const kills = { agent: 0, api: 0 };
    let slowest = 0;
    for (let round = 0; round < count; round++) {
      const victims = [["agent"], ["api"], both][below(3)]! as readonly ("agent" | "api")[];
      const moment = below(500);
      const name = `new-${round}`;
      const end = new AbortController();
      try {
        const written = writes.run(writers, end.signal);
        written.catch(() => end.abort()); // reported where it is awaited
        // A pod is created meanwhile.
        await whole.addPod(name);
        await pause(moment);
        await Promise.all(
          victims.map((victim) => (victim === "agent" ? whole.agent.end("SIGKILL") : whole.api.kill())),
        );
        for (const victim of victims) kills[victim]++;
        await pause(below(200));
        const backAt = Date.now();
        for (const victim of below(2) ? victims : victims.toReversed()) {
          if (victim === "agent") whole.startAgent();
          else whole.api.start();
          await pause(below(300));
        }
        await holds(() => whole.get("/version"));
        end.abort();
        await written;
        await writes.check();
        await whole.runs(name, 60_000);
        slowest = Math.max(slowest, Date.now() - backAt);
        assert.equal((await whole.containersOf(name)).length, 1, `${name} runs once`);
        await whole.deletePod(name);
        await whole.isGone(name);
        assert.deepEqual(await ofSteady(), untouched, "a pod was restarted");
      } catch (error) {
        t.diagnostic(`round ${round}, ${victims.join(" and ")} killed after ${moment} ms, seed ${seed}`);
        t.diagnostic(whole.agent.log().split("\n").slice(-30).join("\n"));
        t.diagnostic((await whole.api.log()).split("\n").slice(-15).join("\n"));
        throw error;
      } finally {
        end.abort();
      }
    }
    for (const name of steady) {
      const { status } = await whole.runs(name);
      assert.equal(status?.containerStatuses?.[0]?.restartCount, 0, name);
    }
    const { acknowledged, unanswered } = writes;
    t.diagnostic(`agent killed ${kills.agent} times, API ${kills.api} times`);
    t.diagnostic(`${acknowledged} writes acknowledged, ${unanswered} without an answer`);
    t.diagnostic(`at most ${slowest} ms from the new start to a pod that runs`);
    assert.ok(acknowledged > count * 10, `only ${acknowledged} writes`);
    assert.ok(unanswered > 0, "no write was under way when the API was killed");
  });

  async function ofSteady(): Promise<Ran[]> {
    const found = (await whole.running()).filter(({ pod }) => steady.includes(pod));
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
