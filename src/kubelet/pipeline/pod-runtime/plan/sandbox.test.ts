import { deadSandbox, done, failed, sandboxOf, testPlans } from "../../../../../test/builders/plans.ts";
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
} from "../../../../../test/builders/pods.ts";
import type { SandboxId } from "../../../../lib/clients/cri/cri.ts";

const two = aPod({ containers: [aContainer("a"), aContainer("b")] });
const never = aPod({ restartPolicy: "Never" });
const onFailure = aPod({ restartPolicy: "OnFailure" });
const gone = "finished: its sandbox is gone and is not replaced (restartPolicy: Never)";

testPlans([
  ["nothing observed: a sandbox first", two, undefined, "sandbox 0"],
  ["an empty observation: a sandbox first", two, anObservedPod([], []), "sandbox 0"],
  [
    "an empty sandbox: all containers start in order",
    two,
    anObservedPod([]),
    "start regular a#0, start regular b#0",
  ],
  [
    "dead sandbox: a new one, with the next attempt",
    aPod(),
    anObservedPod([done("a")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "dead sandbox with running containers: they are stopped first",
    aPod(),
    anObservedPod([anObservedContainer("a")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "no sandbox, and containers run: they are stopped first",
    aPod(),
    anObservedPod([anObservedContainer("a")], []),
    "kill all, sandbox 0",
  ],
  [
    "two ready sandboxes: both are stopped",
    aPod(),
    anObservedPod([], [sandboxOf(1), aSandbox()]),
    "kill all, sandbox 2",
  ],
  [
    "the ready sandbox is not the newest: stopped, and a new one created",
    aPod(),
    anObservedPod([], [sandboxOf(1, { state: "notready" }), aSandbox()]),
    "kill all, sandbox 2",
  ],
  [
    "sandbox without an address: replaced",
    aPod(),
    anObservedPod([], [aSandbox({ ips: [] })]),
    "kill all, sandbox 1",
  ],
  [
    "host network needs no address of its own",
    aPod({ hostNetwork: true }),
    anObservedPod([], [aSandbox({ ips: [], hostNetwork: true })]),
    "start regular a#0",
  ],
  [
    "network namespace changed: replaced",
    aPod({ hostNetwork: true }),
    anObservedPod([anObservedContainer("a")]),
    "kill all, sandbox 1",
  ],
  [
    "Never and it ran: no new sandbox",
    never,
    anObservedPod([done("a")], [deadSandbox]),
    "finished: all containers have exited",
  ],
  [
    "Never and only init containers and sidecars ran: a new sandbox",
    aPod({
      restartPolicy: "Never",
      initContainers: [aContainer("i"), aContainer("side", { restartPolicy: "Always" })],
    }),
    anObservedPod([failed("side"), done("i")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "Never and nothing was created yet: a new sandbox",
    never,
    anObservedPod([], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "Never and nothing was started yet: a new sandbox",
    never,
    anObservedPod([anObservedContainer("a", { state: "created" })], [deadSandbox]),
    "kill all, sandbox 1, remove a-0",
  ],
  [
    "Never and a dead sandbox with running containers: they are stopped, and no sandbox is created",
    never,
    anObservedPod([anObservedContainer("a")], [deadSandbox]),
    "kill all",
  ],
  [
    "Never and a dead sandbox before one of the containers started: none is created for it",
    aPod({ restartPolicy: "Never", containers: [aContainer("a"), aContainer("b")] }),
    anObservedPod([done("a")], [deadSandbox]),
    gone,
  ],
  [
    "Never and a dead sandbox before all regular containers were created: no new sandbox",
    aPod({ restartPolicy: "Never", containers: [aContainer("a"), aContainer("b")] }),
    anObservedPod([done("a")], [deadSandbox]),
    gone,
  ],
  [
    "Never, but the container's own policy restarts it: a new sandbox",
    aPod({ restartPolicy: "Never", containers: [aContainer("a", { restartPolicy: "Always" })] }),
    anObservedPod([done("a")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "Never, but a running container has its own policy: a new sandbox",
    aPod({ restartPolicy: "Never", containers: [aContainer("a", { restartPolicy: "OnFailure" })] }),
    anObservedPod([anObservedContainer("a")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "Never and only a sidecar would be restarted: no new sandbox",
    aPod({
      restartPolicy: "Never",
      initContainers: [aContainer("s", { restartPolicy: "Always" })],
    }),
    anObservedPod([failed("a"), done("s")], [deadSandbox]),
    "finished: all containers have exited",
  ],
  [
    "OnFailure, all succeeded: no new sandbox",
    onFailure,
    anObservedPod([done("a")], [deadSandbox]),
    "finished: all containers have exited",
  ],
  [
    "OnFailure, one failed: a new sandbox",
    onFailure,
    anObservedPod([failed("a")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "OnFailure, init done and nothing else yet: a new sandbox",
    aPod({ restartPolicy: "OnFailure", initContainers: [aContainer("i")] }),
    anObservedPod([done("i")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "unused sandboxes do not accumulate",
    aPod(),
    anObservedPod(
      [],
      [2, 1, 0].map((attempt) => sandboxOf(attempt, { state: "notready" })),
    ),
    "kill all, sandbox 3, remove s1, remove s0",
  ],
  [
    "an old sandbox is removed with its last container",
    aPod(),
    anObservedPod(
      [anObservedContainer("a", { sandboxId: "s1" as SandboxId, attempt: 1 })],
      [sandboxOf(1), deadSandbox],
    ),
    "remove s0",
  ],
  [
    "an old sandbox is kept as long as one of its dead containers",
    aPod(),
    anObservedPod(
      [anObservedContainer("a", { sandboxId: "s1" as SandboxId, attempt: 1 }), done("a")],
      [sandboxOf(1), deadSandbox],
    ),
    "",
  ],
]);
