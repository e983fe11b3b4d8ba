import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, aSandbox, seen, seenContainer } from "../../../test/builders/pods.ts";
import { settle } from "../../base/fake-clock.ts";
import type { ContainerId, SandboxId } from "../../clients/cri/cri.ts";
import { annotationTerminationGracePeriod } from "../../model/labels.ts";
import type { Pod } from "../../model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import { graceSecondsOf, killPod, stopOrder } from "./kill.ts";

const created = (seconds: string) =>
  seenContainer("a", { annotations: { [annotationTerminationGracePeriod]: seconds } });
const pod = (grace: number | undefined, deletion?: number) =>
  aPod({ terminationGracePeriodSeconds: grace }, { deletionGracePeriodSeconds: deletion });

const graceTable: [
  rule: string,
  pod: Pod | undefined,
  c: ObservedContainer,
  override: number | undefined,
  seconds: number,
][] = [
  ["as the pod says", pod(40), seenContainer("a"), undefined, 40],
  ["30 s if it says nothing", pod(undefined), seenContainer("a"), undefined, 30],
  ["a deletion may shorten it", pod(40, 5), seenContainer("a"), undefined, 5],
  ["who stops it may override both", pod(40, 5), seenContainer("a"), 7, 7],
  ["nobody knows the pod: as it was created", undefined, created("12"), undefined, 12],
  ["nobody knows the pod, and who stops it overrides", undefined, created("12"), 3, 3],
  ["nobody knows anything: the shortest", undefined, seenContainer("a"), undefined, 2],
  ["what cannot be read counts as nothing", undefined, created("soon"), undefined, 2],
  ["never less than 2 s: by the pod", pod(0), seenContainer("a"), undefined, 2],
  ["never less than 2 s: by a deletion", pod(30, 1), seenContainer("a"), undefined, 2],
  ["never less than 2 s: by who stops it", pod(30), seenContainer("a"), 0, 2],
  ["never less than 2 s: as it was created", undefined, created("0"), undefined, 2],
];
for (const [rule, of, container, override, seconds] of graceTable)
  test(`grace: ${rule}`, () => assert.equal(graceSecondsOf(of, container, override), seconds));

const withSidecars = aPod({
  initContainers: [
    aContainer("init"),
    aContainer("s1", { restartPolicy: "Always" }),
    aContainer("s2", { restartPolicy: "Always" }),
  ],
  containers: [aContainer("a"), aContainer("b")],
});
const names = (stages: ObservedContainer[][]) => stages.map((stage) => stage.map((c) => c.name).join(" "));
const running = (...list: string[]) => list.map((name) => seenContainer(name));
const orderTable: [rule: string, pod: Pod | undefined, running: string[], stages: string[]][] = [
  [
    "containers at once, then sidecars, last first",
    withSidecars,
    ["s1", "s2", "b", "a"],
    ["b a", "s2", "s1"],
  ],
  ["an init container that runs goes first too", withSidecars, ["s1", "init"], ["init", "s1"]],
  ["only what runs", withSidecars, ["s1"], ["s1"]],
  ["nobody knows the pod: all at once", undefined, ["s1", "a"], ["s1 a"]],
  ["nothing runs", withSidecars, [], []],
];
for (const [rule, of, list, stages] of orderTable)
  test(`order of stopping: ${rule}`, () => assert.deepEqual(names(stopOrder(of, running(...list))), stages));

/** A runtime that notes what it is asked, and lets tests say how each stop ends. */
function setUp(fail: string[] = []) {
  const calls: string[] = [];
  const open = new Map<string, () => void>();
  const call = (what: string, id: string) => {
    calls.push(what);
    if (fail.includes(id)) return Promise.reject(new Error(`${id} does not end`));
    return new Promise<void>((resolve) => open.set(id, resolve));
  };
  const runtime = {
    stopContainer: (id: ContainerId, grace: number) => call(`${id} ${grace}s`, id),
    stopPodSandbox: (id: SandboxId) => call(id, id),
  };
  const end = async (...ids: string[]) => {
    await settle();
    for (const id of ids) open.get(id)?.();
    await settle();
  };
  return { calls, runtime, end };
}
const { signal } = new AbortController();

test("each stage waits for the one before, sandboxes for all", async () => {
  const { calls, runtime, end } = setUp();
  const observed = seen(
    [
      ...running("s1", "s2", "a"),
      seenContainer("b", { state: "exited" }),
      seenContainer("u", { state: "unknown" }),
    ],
    [aSandbox(), aSandbox({ id: "s-old" as SandboxId, state: "notready" })],
  );
  const stopped: string[] = [];
  const killed = killPod(runtime, observed, withSidecars, {
    graceSeconds: 5,
    signal,
    onStop: (c) => stopped.push(c.name),
  });
  await end();
  assert.deepEqual(calls.splice(0), ["a-0 5s", "u-0 5s"], "what ended long ago is left alone");
  await end("a-0");
  assert.deepEqual(calls, []);
  await end("u-0");
  assert.deepEqual(calls.splice(0), ["s2-0 5s"]);
  await end("s2-0");
  assert.deepEqual(calls.splice(0), ["s1-0 5s"]);
  await end("s1-0");
  assert.deepEqual(calls, ["s0", "s-old"], "also one that is stopped, for its network");
  await end("s0", "s-old");
  await killed;
  assert.deepEqual(stopped, ["a", "u", "s2", "s1"]);
});

test("all is tried, whatever fails; then the first failure is told", async () => {
  const { calls, runtime, end } = setUp(["a-0", "s0"]);
  const killed = assert.rejects(
    killPod(runtime, seen(running("a", "s2", "s1")), withSidecars, { signal }),
    /^Error: stopping the pod: a-0 does not end$/,
  );
  await end();
  await end("s2-0");
  await end("s1-0");
  await killed;
  assert.deepEqual(calls, ["a-0 2s", "s2-0 2s", "s1-0 2s", "s0"]);
});
