import { unaffectedByJumps } from "../../../../test/builders/clock-jumps.ts";
import { aPod, testUid } from "../../../../test/builders/pods.ts";
import { msFromNow, sleep } from "../../../lib/base/clock.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import type { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import { PodWorker } from "./pod-worker.ts";

/** A worker that records what it does, and when. */
function startWorker(clock: FakeClock, syncer: Partial<PodSyncer>) {
  const recorded: string[] = [];
  const note = (what: string) => void recorded.push(`${clock.elapsedMs} ${what}`);
  const worker = new PodWorker({
    id: { uid: testUid, name: "p", namespace: "default" },
    pod: aPod(),
    syncer: {
      sync: async () => ({}),
      stop: async () => note("stop"),
      release: async () => note("release"),
      remove: async () => note("remove"),
      isTerminal: () => false,
      ...syncer,
    },
    clock,
    logger: silentLogger,
    syncEveryMs: () => 60_000,
    startBlocker: () => undefined,
    onChange: () => {},
    onPhase: note,
    onFailure: ({ reason }) => note(reason),
    onFinished: () => note("finished"),
  });
  worker.start();
  return { worker, recorded, note };
}

unaffectedByJumps("the syncs of a pod worker", 400_000, async (clock) => {
  let syncs = 0;
  const { worker, recorded, note } = startWorker(clock, {
    sync: async () => {
      note("sync");
      syncs++;
      if (syncs < 6) throw new Error("broken");
      // Computed some time before the sync finishes.
      const at = msFromNow(clock, 45_000);
      if (syncs > 7) return {};
      await sleep(clock, 25_000);
      if (syncs === 6) return { wakeAt: at };
      throw new KubeletError("ImagePullBackOff", "later", { retryAt: at });
    },
  });
  await clock.advance(300_000);
  worker.terminate({ removed: true });
  await clock.advance(100_000);
  return recorded;
});

for (const isKnownImmediately of [true, false])
  unaffectedByJumps(
    `the active deadline of a pod that is ${isKnownImmediately ? "known immediately" : "known after its first sync"}`,
    200_000,
    async (clock) => {
      let since = isKnownImmediately ? clock.wall() : undefined;
      const { recorded } = startWorker(clock, {
        sync: async () => {
          await sleep(clock, 3000);
          since ??= clock.wall();
          return {};
        },
        deadlineOf: () => since && { since, limitMs: 150_000 },
      });
      await clock.advance(200_000);
      return recorded;
    },
  );
