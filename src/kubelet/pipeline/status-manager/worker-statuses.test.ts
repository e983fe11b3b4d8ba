import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodSyncStatus } from "../../state/pod-sync-status.ts";
import type { StatusDetails } from "./status-manager.ts";
import { WorkerStatuses } from "./worker-statuses.ts";

const life = (uid: string, source: string): PodSyncStatus =>
  ({
    id: { uid: uid as PodUid, name: uid, namespace: "default" },
    pod: aPod({}, { uid: uid as PodUid, annotations: { "kubernetes.io/config.source": source } }),
    phase: "syncing",
    waiting: new Map(),
  }) as unknown as PodSyncStatus;

function setUp(...lives: PodSyncStatus[]) {
  const refreshed: string[] = [];
  const statuses = new WorkerStatuses({
    workers: { get: (uid) => lives.find(({ id }) => id.uid === uid), all: () => lives },
    statuses: {
      refresh: ({ metadata: { uid } }: Pod, { mirror }: StatusDetails) => {
        if (uid === "bad") throw new Error("an error");
        refreshed.push(`${uid} ${mirror?.phase ?? "no mirror"}`);
      },
    },
    mirrorStatus: () => ({ phase: "Running" }),
  });
  return { statuses, refreshed };
}

test("the mirror counts for static pods only; a pod without a worker or a spec has no status", () => {
  const orphan = { ...life("orphan", "file"), pod: undefined } as PodSyncStatus;
  const { statuses, refreshed } = setUp(life("static", "file"), life("api", "api"), orphan);
  for (const uid of ["static", "api", "orphan", "unknown"]) statuses.refresh(uid as PodUid);
  assert.deepEqual(refreshed, ["static Running", "api no mirror"]);
});

test("an error with one pod does not affect the others", () => {
  const { statuses, refreshed } = setUp(life("bad", "api"), life("good", "api"));
  assert.throws(() => statuses.refreshAll(), /an error/);
  assert.deepEqual(refreshed, ["good no mirror"]);
});
