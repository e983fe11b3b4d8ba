import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodStatus, PodUid } from "../../../lib/model/pod.ts";
import { isTerminalPhase } from "../../../lib/model/pod-phase.ts";
import { ApiStatusWriter } from "./api-writer.ts";
import { mergeStatus } from "./api-writer-merge.ts";
import { statusPatch } from "./api-writer-patch.ts";
import { FakePodApi, type Fault } from "./fake-pod-api.ts";

const names = ["a", "b"];

const kinds = ["progress", "end", "reclaim", "watch", "gate", "lost", "delete", "recreate"] as const;
const weights = { progress: 4, end: 3, reclaim: 5, watch: 2, gate: 2, lost: 1, delete: 3, recreate: 1 };
const name = fc.constantFrom(...names);
/** Events in random order. */
const event = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("status" as const), name }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.constantFrom(1, 300, 4000, 11_000) }),
  },
  ...kinds.map((kind) => ({
    weight: weights[kind],
    arbitrary: fc.record({ kind: fc.constant(kind), name }),
  })),
);
const fault = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Fault | undefined>(undefined) },
  { weight: 4, arbitrary: fc.constantFrom<Fault[]>("not-received", "response-lost", 409, 429, 500, 503) },
);

interface LocalPod {
  pod: Pod;
  status: PodStatus;
  couldHaveRunningContainers: boolean;
  resourcesReclaimed: boolean;
}

test("with any faults and changes of other clients: the API ends up with our statuses, none reverted, none of another UID", async () => {
  let [writes, deletions] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 5, maxLength: 40 }),
      fc.array(fault, { minLength: 1, maxLength: 40 }),
      async (events, faults) => {
        const clock = new FakeClock();
        const api = new FakePodApi();
        const stop = new AbortController();
        const onNode = new Map<PodUid, LocalPod>();
        const watched = new Map<PodUid, Pod>();
        let step = 0;
        let created = 0;
        const podNamed = (name: string) => api.pods.get(`default/pods/${name}`);
        const currentOf = (name: string) => {
          const pod = podNamed(name);
          return pod && onNode.get(pod.metadata.uid);
        };
        api.fault = () => faults[step++ % faults.length];
        // An error within a request would be retried: violations are checked at the end.
        const wrong: string[] = [];
        const must = (holds: boolean, rule: string) => holds || wrong.push(rule);
        api.onWrite = (before, after) => {
          writes++;
          const own = onNode.get(after.metadata.uid);
          const [was, is] = [before.status?.phase, after.status?.phase];
          must(own !== undefined, "only pods of this node are written");
          must(!isTerminalPhase(was) || is === was, "a terminal phase is kept");
          must(
            isTerminalPhase(was) || !isTerminalPhase(is) || own?.couldHaveRunningContainers === false,
            "no terminal phase while containers could run",
          );
          must(numberOf(after) >= numberOf(before), "no older status after a newer one");
          must(gates(after) === gates(before), "conditions of other clients are kept");
        };
        api.onDelete = (pod) => {
          deletions++;
          must(
            pod.metadata.deletionTimestamp !== undefined,
            "only pods with a deletion timestamp are deleted",
          );
          must(isTerminalPhase(pod.status?.phase), "a deleted pod has terminated");
          must(
            onNode.get(pod.metadata.uid)?.resourcesReclaimed === true,
            "the resources of a deleted pod are reclaimed",
          );
        };
        const writer = new ApiStatusWriter({
          api,
          clock,
          logger: silentLogger,
          apiPod: (pod) => watched.get(pod.metadata.uid),
          couldHaveRunningContainers: (uid) => onNode.get(uid)?.couldHaveRunningContainers ?? false,
          resourcesReclaimed: (uid) => onNode.get(uid)?.resourcesReclaimed ?? false,
          random: () => 0.5,
        });
        await writer.start(stop.signal);
        const create = (name: string) => {
          const uid = `${name}-${++created}` as PodUid;
          const pod = api.put(fakePod({ metadata: { name, uid }, status: { phase: "Pending" } }));
          watched.set(uid, structuredClone(pod));
          onNode.set(uid, {
            pod,
            status: { phase: "Pending" },
            couldHaveRunningContainers: true,
            resourcesReclaimed: false,
          });
        };
        const setStatus = (own: LocalPod, status: PodStatus) => {
          own.status = status;
          writer.set(own.pod, status);
        };
        const check = () => {
          for (const uid of watched.keys()) {
            const now = [...api.pods.values()].find((p) => p.metadata.uid === uid);
            if (now) watched.set(uid, structuredClone(now));
            else watched.delete(uid);
          }
        };
        let count = 0;
        for (const name of names) create(name);
        for (const e of events) {
          if (e.kind === "time") {
            await clock.advance(e.ms);
            continue;
          }
          const pod = podNamed(e.name);
          const own = currentOf(e.name);
          switch (e.kind) {
            case "status":
              if (own && !isTerminalPhase(own.status.phase)) setStatus(own, statusNumber(++count, "Running"));
              break;
            case "progress":
              // More than once: a pod whose init containers run again is pending again.
              if (own && !isTerminalPhase(own.status.phase)) setStatus(own, progressNumber(++count));
              break;
            case "end":
              if (own && !isTerminalPhase(own.status.phase)) setStatus(own, statusNumber(++count, "Failed"));
              break;
            case "reclaim":
              if (!own || !isTerminalPhase(own.status.phase)) break;
              own.resourcesReclaimed = !own.couldHaveRunningContainers;
              own.couldHaveRunningContainers = false;
              writer.wake(own.pod.metadata.uid);
              break;
            case "watch":
              check();
              break;
            case "gate":
              if (pod)
                api.change(pod, (p) => {
                  const others = (p.status?.conditions ?? []).filter((c) => c.type !== "example.com/gate");
                  const gate = { type: "example.com/gate", status: "True", message: `${++count}` };
                  p.status = { ...p.status, conditions: [...others, gate] };
                });
              break;
            case "lost":
              if (pod && !isTerminalPhase(pod.status?.phase))
                api.change(pod, (p) => {
                  p.status = { ...p.status, phase: "Failed", reason: "NodeLost" };
                });
              break;
            case "delete":
              if (pod)
                api.change(pod, (p) => {
                  p.metadata = { ...p.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
                });
              break;
            case "recreate":
              api.pods.delete(`default/pods/${e.name}`);
              create(e.name);
              break;
            default:
              return e satisfies never;
          }
          await settle(1);
        }
        api.fault = () => undefined;
        check();
        await clock.advance(25_000);
        check();
        await clock.advance(11_000);
        for (const name of names) {
          const pod = podNamed(name);
          const own = currentOf(name);
          if (!pod || !own?.status.podIP) continue;
          const merged = mergeStatus(pod.status ?? {}, own.status, {
            couldHaveRunningContainers: own.couldHaveRunningContainers,
            now: clock.wall(),
          });
          assert.equal(statusPatch(pod, merged), undefined, "the API has our status");
          assert.ok(writer.isWritten(own.pod.metadata.uid));
          assert.ok(
            !(pod.metadata.deletionTimestamp && isTerminalPhase(own.status.phase) && own.resourcesReclaimed),
            "deleted pods that have terminated are gone",
          );
        }
        const { length } = api.requests;
        await clock.advance(30_000);
        assert.equal(api.requests.length, length, "then there are no more requests");
        stop.abort();
        await writer.done;
        assert.deepEqual(wrong, []);
      },
    ),
    { numRuns: 250 },
  );
  assert.ok(
    writes > 200 && deletions > 0,
    `${writes} writes and ${deletions} deletions are too few to show anything`,
  );
});

function statusNumber(n: number, phase: string): PodStatus {
  return {
    phase,
    podIP: `10.0.0.${n}`,
    podIPs: [{ ip: `10.0.0.${n}` }],
    conditions: [{ type: "Ready", status: phase === "Running" && n % 2 ? "True" : "False" }],
  };
}

/** A status that may wait for the next one: a start, or only a sandbox. */
function progressNumber(n: number): PodStatus {
  const { podIP, podIPs } = statusNumber(n, "Pending");
  const waiting = { name: "c", state: { waiting: { reason: "ContainerCreating" } }, restartCount: 0 };
  return {
    phase: "Pending",
    podIP,
    podIPs,
    conditions: [{ type: "PodReadyToStartContainers", status: n % 3 ? "True" : "False" }],
    ...(n % 2 ? { containerStatuses: [waiting] as PodStatus["containerStatuses"] } : {}),
  };
}

function numberOf(pod: Pod): number {
  return Number(pod.status?.podIP?.split(".")[3] ?? 0);
}

function gates(pod: Pod): string {
  return JSON.stringify(pod.status?.conditions?.filter((c) => c.type === "example.com/gate") ?? []);
}
