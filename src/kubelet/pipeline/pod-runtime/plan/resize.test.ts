import { done, failed, testPlans } from "../../../../../test/builders/plans.ts";
import { aContainer, anObservedContainer, anObservedPod, aPod } from "../../../../../test/builders/pods.ts";
import type { PlanContext, ResizeNeeds } from "./pod-plan.ts";

type Action = ReturnType<ResizeNeeds["actionFor"]>;

const needs = (actions: Record<string, Action>, more: Partial<ResizeNeeds> = {}): Partial<PlanContext> => ({
  resize: { actionFor: ({ name }) => actions[name] ?? "none", ofPod: false, repeats: false, ...more },
});
const two = aPod({ containers: [aContainer("a"), aContainer("b")] });
const withInits = aPod({
  initContainers: [aContainer("side", { restartPolicy: "Always" }), aContainer("init")],
  containers: [aContainer("a")],
});
const bothRun = anObservedPod([anObservedContainer("a"), anObservedContainer("b")]);
const interrupted = { ofPod: true, repeats: true };

testPlans([
  ["nothing has changed: nothing to do", two, bothRun, "", needs({})],
  ["a running container is resized", two, bothRun, "resize the pod and b", needs({ b: "update" })],
  [
    "all that have changed are resized together",
    two,
    bothRun,
    "resize the pod and a and b",
    needs({ a: "update", b: "update" }),
  ],
  ["only the pod itself has changed", two, bothRun, "resize the pod", needs({}, { ofPod: true })],
  [
    "an interrupted resize is repeated for all that run",
    two,
    anObservedPod([anObservedContainer("a"), failed("b")]),
    "resize the pod and a, start regular b#1",
    needs({}, interrupted),
  ],
  [
    "a container that must be restarted is stopped, and the others are resized",
    two,
    bothRun,
    "kill a-0 (resize), resize the pod and b",
    needs({ a: "restart", b: "update" }),
  ],
  [
    "a container that starts with new resources needs them in the cgroup of the pod",
    two,
    anObservedPod([failed("a"), anObservedContainer("b")]),
    "resize the pod, start regular a#1",
    needs({ a: "update" }),
  ],
  [
    "a container that starts with its old resources does not",
    two,
    anObservedPod([failed("a"), anObservedContainer("b")]),
    "start regular a#1",
    needs({}),
  ],
  [
    "a container that is stopped for another reason is not resized",
    two,
    bothRun,
    "kill b-0 (liveness-probe)",
    {
      ...needs({ b: "update" }),
      probe: (kind, id) => (kind === "liveness" && id === "b-0" ? "failure" : undefined),
    },
  ],
  [
    "sidecars and a running init container are resized",
    withInits,
    anObservedPod([anObservedContainer("side"), anObservedContainer("init")]),
    "resize the pod and side and init, waiting for init container init to complete",
    needs({ side: "update", init: "update", a: "update" }),
  ],
  [
    "an init container that has completed is not",
    withInits,
    anObservedPod([anObservedContainer("side"), done("init"), anObservedContainer("a")]),
    "resize the pod and side",
    needs({ side: "update", init: "update" }),
  ],
  [
    "an ephemeral container that starts has no resources",
    aPod({ ephemeralContainers: [aContainer("e")] as never }),
    anObservedPod([anObservedContainer("a")]),
    "start ephemeral e#0",
    needs({ e: "update" }),
  ],
  ["a pod without a sandbox starts first", two, undefined, "sandbox 0", needs({}, interrupted)],
  [
    "a pod that has terminated is not resized",
    aPod({ restartPolicy: "Never" }),
    anObservedPod([failed("a")]),
    "finished: all containers have exited",
    needs({ a: "update" }, interrupted),
  ],
]);
