import assert from "node:assert/strict";
import { appendFileSync, copyFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { messageOf } from "../../../src/lib/base/errors.ts";
import { waitFor } from "../../e2e/wait-for.ts";
import { long } from "../../long.ts";
import { containerdVersions } from "../../node/test-node.ts";
import { seededRandom } from "../seeded-random.ts";
import { chooseFault } from "./fault-kinds.ts";
import { FaultNode } from "./fault-node.ts";
import { assertRecordsSettled, assertSettled } from "./settled.ts";
import { Workload } from "./workload.ts";

const minutes = Number(process.env.FAULT_MINUTES ?? 1.2);
const seed = Number(process.env.FAULT_SEED ?? 20261117);
const settleMs = 120_000;
const mebibyte = 1 << 20;
const { available } = containerdVersions().find(({ name }) => name === "2.x")!;

describe(long(`mixed faults for ${minutes} minutes, seed ${seed}`), {
  skip: available === true ? false : available,
}, () => {
  let node: FaultNode;
  let workload: Workload;
  const history: string[] = [];
  const startedAt = Date.now();
  const note = (text: string) => {
    const line = `${((Date.now() - startedAt) / 1000).toFixed(2)} s: ${text}`;
    history.push(line);
    if (process.env.FAULT_LOG) appendFileSync(`${process.env.FAULT_LOG}.history`, `${line}\n`);
  };

  before(async () => {
    node = await FaultNode.start(seededRandom(seed + 2));
    workload = new Workload(node, seededRandom(seed + 1));
    await workload.begin();
  });

  after(async () => {
    await node?.destroy();
  });

  test("pods converge to what is desired, nothing of deleted pods remains", {
    timeout: 3_600_000,
  }, async (t) => {
    try {
      await settles();
      const heapBefore = await node.heapBytes();
      await runFaults();
      await endFaults();
      await settles();
      note("settled");
      await workload.create("plain");
      await settles(() => assertRecordsSettled(node));
      const heap = await node.heapBytes();
      t.diagnostic(`heap ${mib(heapBefore)} MiB before, ${mib(heap)} MiB after`);
      assert.ok(
        heap < heapBefore * 1.5 + 16 * mebibyte,
        `heap ${mib(heapBefore)} MiB, then ${mib(heap)} MiB`,
      );
      await workload.deleteAll();
      await settles();
      note("deleted");
      await workload.create("plain");
      await settles(() => assertRecordsSettled(node));
    } catch (error) {
      t.diagnostic(`FAULT_SEED=${seed} FAULT_MINUTES=${minutes}\n${history.join("\n")}`);
      t.diagnostic(node.apiNode.agent.log().split("\n").slice(-60).join("\n"));
      if (process.env.FAULT_LOG) copyFileSync(node.apiNode.agent.logFile, `${process.env.FAULT_LOG}.agent`);
      throw error;
    }
    t.diagnostic(`${history.length} changes and faults in ${Math.round((Date.now() - startedAt) / 1000)} s`);
  });

  async function runFaults(): Promise<void> {
    const end = AbortSignal.timeout(minutes * 60_000);
    const [changes, faults] = await Promise.allSettled([
      (async () => {
        const { below } = seededRandom(seed + 3);
        while (!end.aborted) {
          note(await workload.change());
          await pause(below(1200));
        }
      })(),
      (async () => {
        const random = seededRandom(seed);
        const lanes = new Map<string, Promise<void>>();
        while (!end.aborted) {
          const fault = chooseFault(node, random);
          const waitMs = random.below(2500);
          if (lanes.has(fault.lane)) continue;
          note(fault.description);
          lanes.set(
            fault.lane,
            fault.run().then(() => void lanes.delete(fault.lane)),
          );
          await pause(waitMs);
        }
        await Promise.all(lanes.values());
      })(),
    ]);
    for (const result of [changes, faults]) if (result.status === "rejected") throw result.reason;
  }

  async function settles(more = async () => {}): Promise<void> {
    let missing = "";
    await waitFor(async () => {
      try {
        await assertSettled(node, workload);
        await more();
      } catch (error) {
        const found = messageOf(error);
        if (found !== missing) note(`not settled: ${found.slice(0, 1500)}`);
        missing = found;
        throw error;
      }
    }, settleMs);
  }

  /** From here on nothing fails. */
  async function endFaults(): Promise<void> {
    node.cri.release();
    node.errors.fail(0);
    node.network.clear();
    node.network.reset();
    node.setClock(0);
    await workload.resolveConflicts();
    // A containerd that is interrupted while it starts a container may fail to remove that container until it is restarted.
    await node.apiNode.node.stopRuntime();
    await node.apiNode.node.startRuntime();
    note("faults ended");
  }
});

function mib(bytes: number): string {
  return (bytes / mebibyte).toFixed(1);
}
