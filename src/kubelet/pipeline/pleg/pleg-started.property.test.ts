import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { ContainerId, SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { ObservedPods } from "../../state/observed-pods.ts";
import { FakeRuntimeView } from "./fake-runtime-view.ts";
import { Pleg } from "./pleg.ts";

const uid = "u" as PodUid;
/** Changes in the runtime, each with the observation that it causes, and responses of the runtime in any order. */
const step = fc.oneof(
  fc.record({ kind: fc.constant("start" as const) }),
  fc.record({
    kind: fc.constantFrom("exit" as const, "remove" as const),
    at: fc.nat(5),
    isListed: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("relist" as const) }),
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("respond" as const), at: fc.nat(7) }) },
);

test("in any order of responses, what was started and what has exited is observed without another relist", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const view = new FakeRuntimeView();
      view.sandboxes.push({ id: "s-u", uid, ready: true });
      const clock = new FakeClock();
      const observed = new ObservedPods();
      const stop = new AbortController();
      const pleg = new Pleg({
        runtime: view.runtime,
        observed,
        clock,
        logger: silentLogger,
        relistEveryMs: () => 3_600_000,
        onEvent: () => {},
      });
      await pleg.start(stop.signal);
      await pleg.synced;
      const pending: (() => void)[] = [];
      view.before = () => new Promise<void>((resolve) => pending.push(resolve));
      const observations: Promise<void>[] = [];
      // As in a pod worker: the next start follows the observation of the last one.
      let starting: Promise<void> | undefined;
      let count = 0;
      for (const each of steps) {
        const container = "at" in each ? view.containers[each.at % (view.containers.length || 1)] : undefined;
        switch (each.kind) {
          case "start": {
            if (starting) break;
            const id = `c${++count}`;
            view.containers.push({ id, uid, state: "running", createdAt: count });
            const parts = [{ id: id as ContainerId, sandboxId: "s-u" as SandboxId, image: "" }];
            const started = pleg
              .started({ uid, name: "p", namespace: "n" }, { containers: parts })
              .then(() => {
                starting = undefined;
                assert.ok(
                  observed.get(uid)?.containers.some((c) => c.id === id) ||
                    view.containers.every((c) => c.id !== id),
                );
              });
            starting = started;
            observations.push(started);
            break;
          }
          case "exit":
            if (container?.state !== "running") break;
            container.state = "exited";
            observations.push(each.isListed ? pleg.refresh(uid) : pleg.stopped(uid, container.id));
            break;
          case "remove":
            if (container?.state !== "exited") break;
            view.containers = view.containers.filter((c) => c !== container);
            observations.push(pleg.refresh(uid));
            break;
          case "relist":
            pleg.relistSoon();
            break;
          case "respond":
            pending.splice(each.at % (pending.length || 1), 1)[0]?.();
            break;
          default:
            each satisfies never;
        }
        await settle(1);
      }
      view.before = () => {};
      while (pending.length > 0) {
        pending.pop()?.();
        await settle(1);
      }
      await Promise.all(observations);
      await settle();
      const states = (list: readonly { id: string; state: string }[]) =>
        list.map((c) => `${c.id} ${c.state}`).sort();
      assert.deepEqual(states(observed.get(uid)?.containers ?? []), states(view.containers));
      stop.abort();
      await pleg.done;
    }),
    { numRuns: 400 },
  );
});
