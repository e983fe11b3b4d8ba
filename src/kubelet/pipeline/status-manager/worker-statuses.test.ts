import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodSyncStatus } from "../../state/pod-sync-status.ts";
import type { StatusDetails } from "./status-manager.ts";
import { WorkerStatuses } from "./worker-statuses.ts";

const workerOf = (uid: string, source: string): PodSyncStatus =>
  ({
    id: { uid: uid as PodUid, name: uid, namespace: "default" },
    pod: aPod({}, { uid: uid as PodUid, annotations: { "kubernetes.io/config.source": source } }),
    phase: "syncing",
    waiting: new Map(),
  }) as unknown as PodSyncStatus;

function setUp(...list: PodSyncStatus[]) {
  const refreshed: string[] = [];
  const statuses = new WorkerStatuses({
    workers: { get: (uid) => list.find(({ id }) => id.uid === uid), all: () => list },
    statuses: {
      refresh: ({ metadata: { uid } }: Pod, { mirror }: StatusDetails) => {
        if (uid === "bad") throw new Error("an error");
        refreshed.push(`${uid} ${mirror?.phase ?? "no mirror"}`);
      },
    },
    apiPods: { statusOf: () => ({ phase: "Running" }) },
  });
  return { statuses, refreshed };
}

test("the mirror is used for static pods only; a pod without a worker or a spec has no status", () => {
  const orphan = { ...workerOf("orphan", "file"), pod: undefined } as PodSyncStatus;
  const { statuses, refreshed } = setUp(workerOf("static", "file"), workerOf("api", "api"), orphan);
  for (const uid of ["static", "api", "orphan", "unknown"]) statuses.refresh(uid as PodUid);
  assert.deepEqual(refreshed, ["static Running", "api no mirror"]);
});

test("an error with one pod does not affect the others", () => {
  const { statuses, refreshed } = setUp(workerOf("bad", "api"), workerOf("good", "api"));
  assert.throws(() => statuses.refreshAll(), /an error/);
  assert.deepEqual(refreshed, ["good no mirror"]);
});
