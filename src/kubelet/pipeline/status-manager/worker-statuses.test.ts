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
  const made: string[] = [];
  const statuses = new WorkerStatuses({
    workers: { get: (uid) => lives.find(({ id }) => id.uid === uid), all: () => lives },
    statuses: {
      refresh: ({ metadata: { uid } }: Pod, { mirror }: StatusDetails) => {
        if (uid === "bad") throw new Error("a fault");
        made.push(`${uid} ${mirror?.phase ?? "no mirror"}`);
      },
    },
    mirrorStatus: () => ({ phase: "Running" }),
  });
  return { statuses, made };
}

test("the mirror counts for static pods only; what has no worker or no pod has no status", () => {
  const orphan = { ...life("orphan", "file"), pod: undefined } as PodSyncStatus;
  const { statuses, made } = setUp(life("static", "file"), life("api", "api"), orphan);
  for (const uid of ["static", "api", "orphan", "unknown"]) statuses.refresh(uid as PodUid);
  assert.deepEqual(made, ["static Running", "api no mirror"]);
});

test("a status that cannot be made does not keep the others from being made", () => {
  const { statuses, made } = setUp(life("bad", "api"), life("good", "api"));
  assert.throws(() => statuses.refreshAll(), /a fault/);
  assert.deepEqual(made, ["good no mirror"]);
});
