import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodChange } from "../../state/pod-change.ts";
import { InitialSync } from "./initial-sync.ts";
import { applyToDesired, applyToWorkers } from "./pod-dispatch.ts";

function setUp() {
  const calls: string[] = [];
  const desired = new Map<PodUid, Pod>();
  const workers = {
    update: (pod: Pod, changed: string) => {
      if (pod.metadata.name === "bad") throw new Error("an error");
      const what = pod.metadata.deletionTimestamp ? " being deleted" : changed === "status" ? " status" : "";
      calls.push(`update ${pod.metadata.uid}${what}`);
    },
    terminate: (uid: PodUid, o: { removed: boolean; graceSeconds?: number }) =>
      calls.push(`terminate ${uid} ${o.removed ? "removed" : "deleted"} ${o.graceSeconds ?? ""}`),
  };
  const set = {
    set: (pod: Pod) => desired.set(pod.metadata.uid, pod),
    remove: (uid: PodUid) => desired.delete(uid),
  };
  const change = (op: PodChange["op"], ...pods: Pod[]) => {
    applyToDesired({ op, source: "file", pods }, set);
    applyToWorkers({ op, source: "file", pods }, workers);
  };
  return { calls, desired, change };
}

const pod = (uid: string, meta: Partial<Pod["metadata"]> = {}) => aPod({}, { uid: uid as PodUid, ...meta });

test("changes reach the desired pods and the workers", () => {
  const { calls, desired, change } = setUp();
  change("ADD", pod("1"), pod("2"));
  change("UPDATE", pod("1"));
  change("RECONCILE", pod("1"));
  change("DELETE", pod("2", { deletionTimestamp: "2026-01-01T00:00:05Z", deletionGracePeriodSeconds: 5 }));
  change("REMOVE", pod("1", { deletionGracePeriodSeconds: 3 }));
  assert.deepEqual(calls, [
    "update 1",
    "update 2",
    "update 1",
    "update 1 status",
    "update 2 being deleted",
    "terminate 1 removed 3",
  ]);
  assert.deepEqual([...desired.keys()], ["2"]);
});

test("a mirror pod is desired, but has no worker", () => {
  const { calls, desired, change } = setUp();
  change("ADD", pod("1", { annotations: { "kubernetes.io/config.mirror": "hash" } }));
  assert.deepEqual(calls, []);
  assert.deepEqual([...desired.keys()], ["1"]);
});

test("an error with one pod does not affect the others of the same change", () => {
  const { calls, desired, change } = setUp();
  assert.throws(() => change("ADD", pod("1", { name: "bad" }), pod("2")), /an error/);
  assert.deepEqual(calls, ["update 2"]);
  assert.deepEqual([...desired.keys()], ["1", "2"]);
});

test("sources are ready when each has delivered its pods, and pods start when the runtime was listed and its features are known", () => {
  const posted: string[] = [];
  const sync = new InitialSync({
    post: (event) => posted.push(event.kind === "source-synced" ? event.source : event.kind),
    sources: ["file", "api"],
  });
  sync.delivered("file");
  sync.delivered("file");
  assert.deepEqual([sync.areSourcesReady(), sync.isComplete()], [false, false]);
  sync.delivered("api");
  assert.deepEqual([sync.areSourcesReady(), sync.isComplete()], [true, false]);
  assert.deepEqual(posted, ["file", "api"]);
  sync.runtimeListed();
  assert.deepEqual([sync.isComplete(), sync.mayStartPods()], [true, false]);
  sync.runtimeKnown();
  assert.equal(sync.mayStartPods(), true);
});
