import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { rounds } from "../long.ts";
import { containerdVersions } from "../node/test-node.ts";
import { claimsPath, DraTestNode } from "./dra-test-node.ts";
import type { DriverProcess } from "./driver-process.ts";

const available = containerdVersions().find(({ name }) => name === "2.x")?.available;
const driverName = "killed.example.com";
const seed = Number(process.env.KILL_SEED ?? 7);

interface Round {
  readonly method: "NodePrepareResources" | "NodeUnprepareResources";
  /** Killed before the driver did the work, or after. */
  readonly fault: "hang" | "execute-and-hang";
  readonly victim: "driver" | "agent";
  /** Another pod shares the claim of a running pod in this round. */
  readonly shares: boolean;
}

/** All combinations of method, fault and victim come up in eight consecutive rounds. */
function roundOf(i: number, random: () => number): Round {
  const mixed = i * 5 + seed;
  return {
    method: mixed & 1 ? "NodePrepareResources" : "NodeUnprepareResources",
    fault: mixed & 2 ? "hang" : "execute-and-hang",
    victim: mixed & 4 ? "driver" : "agent",
    shares: random() < 0.5,
  };
}

/** Repeatable: a linear congruential generator. */
function generator(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

for (const { count, named } of rounds("DRA_KILL_ROUNDS", 4, 30))
  describe(named(`${count} rounds of kill -9 in the middle of calls of a DRA driver`), {
    skip: available === true ? false : available,
  }, () => {
    let node: DraTestNode;
    let driver: DriverProcess;
    /** The claim of each pod. */
    const pods = new Map<string, string>();
    let created = 0;

    before(async () => {
      node = await DraTestNode.start();
      driver = await node.driver(driverName, ["d0", "d1", "d2", "d3", "d4", "d5"]);
      await driver.start();
    });
    after(async () => {
      await node?.destroy();
    });

    const addPod = async (claim: string) => {
      const name = `p${created++}`;
      await node.pod(name, [{ name: "device", resourceClaimName: claim }]);
      pods.set(name, claim);
      return name;
    };
    const newClaim = async () => {
      const name = `c${created++}`;
      await node.claim(name, driverName);
      return name;
    };
    const removePod = async (name: string) => {
      await node.apiNode.deletePod(name);
      pods.delete(name);
    };
    /** Kills the victim as soon as the driver has received the call, or has done its work. */
    const killDuring = async ({ method, fault, victim }: Round, act: () => Promise<void>) => {
      const calls = (await driver.calls(method)).length;
      const executed = (await driver.executed()).length;
      await driver.faults({ [method]: fault });
      await act();
      await waitFor(async () => {
        if (fault === "hang") assert.ok((await driver.calls(method)).length > calls);
        else assert.ok((await driver.executed()).length > executed);
      });
      if (victim === "driver") await driver.kill();
      else await node.apiNode.agent.end("SIGKILL");
      await driver.faults({});
      if (victim === "driver") await driver.start();
      else await node.restartAgent();
    };
    /** Driver, checkpoint, PodResources and containers agree on the claims of the running pods. */
    const check = async () => {
      const objects = await node.claims();
      const uidOf = (claim: string) =>
        objects.find(({ metadata }) => metadata?.name === claim)?.metadata?.uid ?? claim;
      const inUse = [...new Set(pods.values())];
      const expected = inUse.map(uidOf).sort(byText);
      assert.deepEqual(await driver.prepared(), expected, "driver");
      const recorded = await node.checkpoint();
      assert.deepEqual(recorded.map(({ uid }) => uid).sort(byText), expected, "checkpoint");
      for (const { name, pods: users } of recorded)
        assert.equal(users.length, [...pods.values()].filter((claim) => claim === name).length, name);
      const reported = await node.podResources();
      for (const [pod, claim] of pods) {
        assert.equal(reported[pod]?.length, 1, pod);
        assert.ok(reported[pod]?.[0]?.includes(uidOf(claim)), `${pod}: ${reported[pod]}`);
        const [result] =
          objects.find(({ metadata }) => metadata?.name === claim)?.status?.allocation?.devices?.results ??
          [];
        assert.deepEqual(await node.devices(pod), [`DEVICE_GPU=${result?.device}`], pod);
      }
    };

    test(`leave exactly the claims of running pods prepared (seed ${seed})`, async () => {
      const random = generator(seed);
      for (let i = 0; i < count; i++) {
        const round = roundOf(i, random);
        const before = [...pods.keys()];
        if (round.method === "NodePrepareResources" || before.length === 0)
          await killDuring({ ...round, method: "NodePrepareResources" }, async () => {
            await addPod(await newClaim());
          });
        else {
          const pod = before[Math.floor(random() * before.length)]!;
          const claim = pods.get(pod)!;
          // Only the last user of a claim has it unprepared.
          for (const other of before) if (other !== pod && pods.get(other) === claim) await removePod(other);
          await killDuring(round, () => removePod(pod));
          await node.apiNode.isGone(pod);
          await node.apiNode.admin.request({ method: "DELETE", path: `${claimsPath}/${claim}` });
        }
        const [first] = pods.keys();
        if (round.shares && first !== undefined && pods.size < 4) await addPod(pods.get(first)!);
        for (const pod of pods.keys()) await node.apiNode.runs(pod);
        try {
          await waitFor(check);
        } catch (error) {
          throw new Error(`round ${i}: ${JSON.stringify(round)}`, { cause: error });
        }
      }
    });
  });

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
