import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { anObject, noon, secondsBeforeNoon, shown, table } from "./fixtures.ts";

type Fields = Record<string, unknown>;

const running = { running: { startedAt: secondsBeforeNoon(60) } };
const waiting = (reason?: string) => ({ waiting: { reason } });
const terminated = (exitCode: number, rest: Fields = {}) => ({ terminated: { exitCode, ...rest } });
const status = (name: string, state: Fields, rest: Fields = {}) => ({
  name,
  state,
  restartCount: 0,
  ...rest,
});
const restarted = (restartCount: number, secondsAgo: number) => ({
  restartCount,
  lastState: { terminated: { exitCode: 1, finishedAt: secondsBeforeNoon(secondsAgo) } },
});
const condition = (type: string, value: string, reason?: string) => ({ type, status: value, reason });

interface Row {
  rule: string;
  init?: Fields[];
  containers?: number;
  spec?: Fields;
  status: Fields;
  metadata?: Fields;
  is: [ready: string, status: string, restarts: string];
}

const init = [{ name: "i0" }, { name: "i1" }];
const sidecar = { name: "s", restartPolicy: "Always" };
const deleted = { deletionTimestamp: secondsBeforeNoon(0) };

const rows: Row[] = [
  {
    rule: "the phase is the default",
    status: { phase: "Pending" },
    is: ["0/1", "Pending", "0"],
  },
  {
    rule: "the pod's reason takes precedence over its phase",
    status: { phase: "Failed", reason: "Evicted" },
    is: ["0/1", "Evicted", "0"],
  },
  {
    rule: "a gated pod is SchedulingGated",
    status: { phase: "Pending", conditions: [condition("PodScheduled", "False", "SchedulingGated")] },
    is: ["0/1", "SchedulingGated", "0"],
  },
  {
    rule: "a waiting container shows its reason",
    status: { phase: "Pending", containerStatuses: [status("a", waiting("ContainerCreating"))] },
    is: ["0/1", "ContainerCreating", "0"],
  },
  {
    rule: "a waiting container without a reason is ignored",
    status: { phase: "Pending", containerStatuses: [status("a", waiting())] },
    is: ["0/1", "Pending", "0"],
  },
  {
    rule: "running and ready",
    status: { phase: "Running", containerStatuses: [status("a", running, { ready: true })] },
    is: ["1/1", "Running", "0"],
  },
  {
    rule: "running but not ready",
    status: { phase: "Running", containerStatuses: [status("a", running, { ready: false })] },
    is: ["0/1", "Running", "0"],
  },
  {
    rule: "restarts, with the time since the last",
    containers: 2,
    status: {
      phase: "Running",
      containerStatuses: [
        status("a", running, { ready: true, ...restarted(2, 300) }),
        status("b", waiting("CrashLoopBackOff"), restarted(3, 900)),
      ],
    },
    is: ["1/2", "CrashLoopBackOff", "5 (5m ago)"],
  },
  {
    rule: "restarts without a time of the last one",
    status: { phase: "Running", containerStatuses: [status("a", running, { ready: true, restartCount: 3 })] },
    is: ["1/1", "Running", "3"],
  },
  {
    rule: "of several containers the first one's reason is shown",
    containers: 2,
    status: {
      phase: "Pending",
      containerStatuses: [status("a", waiting("ErrImagePull")), status("b", waiting("ImagePullBackOff"))],
    },
    is: ["0/2", "ErrImagePull", "0"],
  },
  {
    rule: "a terminated container shows its reason",
    status: { phase: "Failed", containerStatuses: [status("a", terminated(1, { reason: "Error" }))] },
    is: ["0/1", "Error", "0"],
  },
  {
    rule: "a terminated container without a reason shows its signal",
    status: { phase: "Failed", containerStatuses: [status("a", terminated(137, { signal: 9 }))] },
    is: ["0/1", "Signal:9", "0"],
  },
  {
    rule: "a terminated container without a signal shows its exit code",
    status: { phase: "Failed", containerStatuses: [status("a", terminated(3))] },
    is: ["0/1", "ExitCode:3", "0"],
  },
  {
    rule: "all completed",
    status: { phase: "Succeeded", containerStatuses: [status("a", terminated(0, { reason: "Completed" }))] },
    is: ["0/1", "Completed", "0"],
  },
  {
    rule: "one completed, the other runs, and the pod is ready: it is running",
    containers: 2,
    status: {
      phase: "Running",
      conditions: [condition("Ready", "True")],
      containerStatuses: [
        status("a", terminated(0, { reason: "Completed" })),
        status("b", running, { ready: true }),
      ],
    },
    is: ["1/2", "Running", "0"],
  },
  {
    rule: "one completed, the other runs, and the pod is not ready",
    containers: 2,
    status: {
      phase: "Running",
      conditions: [condition("Ready", "False")],
      containerStatuses: [
        status("a", terminated(0, { reason: "Completed" })),
        status("b", running, { ready: true }),
      ],
    },
    is: ["1/2", "NotReady", "0"],
  },
  {
    rule: "one completed, another failed: the failure is shown",
    containers: 2,
    status: {
      phase: "Failed",
      containerStatuses: [
        status("a", terminated(0, { reason: "Completed" })),
        status("b", terminated(1, { reason: "Error" })),
      ],
    },
    is: ["0/2", "Error", "0"],
  },
  {
    rule: "init containers are counted until they have completed",
    init,
    status: {
      phase: "Pending",
      initContainerStatuses: [status("i0", running), status("i1", waiting("PodInitializing"))],
      containerStatuses: [status("a", waiting("PodInitializing"))],
    },
    is: ["0/1", "Init:0/2", "0"],
  },
  {
    rule: "the second of two init containers",
    init,
    status: {
      phase: "Pending",
      initContainerStatuses: [status("i0", terminated(0)), status("i1", waiting("PodInitializing"))],
    },
    is: ["0/1", "Init:1/2", "0"],
  },
  {
    rule: "a waiting init container shows its reason and its restarts",
    init,
    status: {
      phase: "Pending",
      initContainerStatuses: [status("i0", waiting("CrashLoopBackOff"), restarted(4, 20))],
      containerStatuses: [status("a", waiting("PodInitializing"))],
    },
    is: ["0/1", "Init:CrashLoopBackOff", "4 (20s ago)"],
  },
  {
    rule: "an init container failed with a reason",
    init,
    status: { phase: "Pending", initContainerStatuses: [status("i0", terminated(1, { reason: "Error" }))] },
    is: ["0/1", "Init:Error", "0"],
  },
  {
    rule: "an init container was killed",
    init,
    status: { phase: "Pending", initContainerStatuses: [status("i0", terminated(137, { signal: 9 }))] },
    is: ["0/1", "Init:Signal:9", "0"],
  },
  {
    rule: "an init container failed with an exit code alone",
    init,
    status: { phase: "Pending", initContainerStatuses: [status("i0", terminated(2))] },
    is: ["0/1", "Init:ExitCode:2", "0"],
  },
  {
    rule: "when all init containers have completed, their restarts are not shown",
    init,
    status: {
      phase: "Running",
      initContainerStatuses: [status("i0", terminated(0), restarted(2, 50)), status("i1", terminated(0))],
      containerStatuses: [status("a", waiting("PodInitializing"))],
    },
    is: ["0/1", "PodInitializing", "0"],
  },
  {
    rule: "an initialized pod shows its containers, regardless of its init containers",
    init,
    status: {
      phase: "Running",
      conditions: [condition("Initialized", "True")],
      initContainerStatuses: [status("i0", running)],
      containerStatuses: [status("a", waiting("CrashLoopBackOff"), restarted(1, 10))],
    },
    is: ["0/1", "CrashLoopBackOff", "1 (10s ago)"],
  },
  {
    rule: "sidecars count as containers, ready or not",
    init: [sidecar],
    status: {
      phase: "Running",
      initContainerStatuses: [status("s", running, { started: true, ready: true, ...restarted(1, 40) })],
      containerStatuses: [status("a", running, { ready: true, ...restarted(1, 30) })],
    },
    is: ["2/2", "Running", "2 (30s ago)"],
  },
  {
    rule: "a sidecar that has not started blocks initialization",
    init: [sidecar, { name: "i1" }],
    status: {
      phase: "Pending",
      initContainerStatuses: [
        status("s", running, { started: false }),
        status("i1", waiting("PodInitializing")),
      ],
    },
    is: ["0/2", "Init:0/2", "0"],
  },
  {
    rule: "a sidecar that started but is not ready does not block initialization",
    init: [sidecar, { name: "i1" }],
    status: {
      phase: "Pending",
      initContainerStatuses: [
        status("s", running, { started: true, ready: false }),
        status("i1", waiting("PodInitializing")),
      ],
    },
    is: ["0/2", "Init:1/2", "0"],
  },
  {
    rule: "a pod that is being deleted is terminating",
    metadata: deleted,
    status: { phase: "Running", containerStatuses: [status("a", running, { ready: true })] },
    is: ["1/1", "Terminating", "0"],
  },
  {
    rule: "a terminated pod keeps its status while it is deleted",
    metadata: deleted,
    status: { phase: "Succeeded", containerStatuses: [status("a", terminated(0, { reason: "Completed" }))] },
    is: ["0/1", "Completed", "0"],
  },
  {
    rule: "a deleted pod on a lost node is Unknown",
    metadata: deleted,
    status: { phase: "Running", reason: "NodeLost" },
    is: ["0/1", "Unknown", "0"],
  },
];

function aPod({
  init: initContainers,
  containers = 1,
  spec,
  status: podStatus,
  metadata,
}: Omit<Row, "rule" | "is">) {
  const names = Array.from({ length: containers }, (_, i) => ({ name: String.fromCharCode(97 + i) }));
  return anObject({ spec: { initContainers, containers: names, ...spec }, status: podStatus }, metadata);
}

describe("pods", () => {
  for (const { rule, is, ...pod } of rows) {
    test(rule, () => {
      const { Ready, Status, Restarts } = shown("pods", aPod(pod));
      assert.deepEqual([Ready, Status, Restarts], is);
    });
  }

  test("the wide columns of a pod without a status", () => {
    const {
      IP,
      Node,
      "Nominated Node": nominated,
      "Readiness Gates": gates,
      Age,
    } = shown("pods", aPod({ status: {} }));
    assert.deepEqual([IP, Node, nominated, gates, Age], ["<none>", "<none>", "<none>", "<none>", "5m10s"]);
  });

  test("the wide columns of a pod with a complete status", () => {
    const pod = aPod({
      spec: { nodeName: "n", readinessGates: [{ conditionType: "x" }, { conditionType: "y" }] },
      status: {
        podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
        nominatedNodeName: "m",
        conditions: [condition("x", "True"), condition("y", "False")],
      },
    });
    const { IP, Node, "Nominated Node": nominated, "Readiness Gates": gates } = shown("pods", pod);
    assert.deepEqual([IP, Node, nominated, gates], ["10.0.0.1", "n", "m", "1/2"]);
  });

  test("a pod that has only a name has a row, too", () => {
    const cells = table("pods", [{ metadata: { name: "a", uid: "u" } }]).rows[0]?.cells;
    assert.deepEqual(cells?.slice(0, 5), ["a", "0/0", "", "0", "<unknown>"]);
  });

  test("rows of terminated pods are marked as completed", () => {
    const reasons = ["Running", "Succeeded", "Failed"].map((phase) =>
      table("pods", [aPod({ status: { phase } })]).rows[0]?.conditions?.map(({ type, reason }) => [
        type,
        reason,
      ]),
    );
    assert.deepEqual(reasons, [undefined, [["Completed", "Succeeded"]], [["Completed", "Failed"]]]);
  });

  test("ages are relative to the time of the options", () => {
    const { rows: shownRows } = table("pods", [aPod({ status: {} })], { now: noon + 86_400_000 });
    assert.equal(shownRows[0]?.cells[4], "24h");
  });
});
