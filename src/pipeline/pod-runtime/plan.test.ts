import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, aSandbox, seen, seenContainer } from "../../../test/builders/pods.ts";
import type { SandboxId } from "../../clients/cri/cri.ts";
import type { Pod } from "../../model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { type PlanContext, planPod } from "./plan.ts";

const context: PlanContext = { now: 100_000, hashOf: () => "h", restartAt: () => 0 };

/** The plan as a short sentence, so that a table can say what is expected. */
function summary(pod: Pod, observed: ObservedPod | undefined, more: Partial<PlanContext> = {}): string {
  const plan = planPod(pod, observed, { ...context, ...more });
  return [
    plan.killAll && "kill all",
    plan.createSandbox && `sandbox ${plan.createSandbox.attempt}`,
    ...plan.kill.map((k) => `kill ${k.container.id}`),
    ...plan.removeContainers.map((c) => `remove ${c.id}`),
    ...plan.removeSandboxes.map((s) => `remove ${s.id}`),
    ...plan.start.map((s) => `start ${s.role} ${s.container.name}#${s.attempt}`),
    ...plan.delays.map((d) => `delay ${d.container} until ${d.until}`),
  ]
    .filter(Boolean)
    .join(", ");
}

const two = aPod({ containers: [aContainer("a"), aContainer("b")] });
const never = aPod({ restartPolicy: "Never" });
const onFailure = aPod({ restartPolicy: "OnFailure" });
const inits = aPod({ initContainers: [aContainer("i"), aContainer("j")] });
const sidecar = aPod({ initContainers: [aContainer("i"), aContainer("s", { restartPolicy: "Always" })] });
const done = (name: string, more = {}) => seenContainer(name, { state: "exited", ...more });
const failed = (name: string, more = {}) => seenContainer(name, { state: "exited", exitCode: 1, ...more });
const deadSandbox = aSandbox({ state: "notready" });

const table: [rule: string, pod: Pod, observed: ObservedPod | undefined, expected: string][] = [
  // sandbox
  ["nothing there: a sandbox first", two, undefined, "sandbox 0"],
  ["an empty sandbox: all containers start in order", two, seen([]), "start regular a#0, start regular b#0"],
  ["all runs: nothing to do", two, seen([seenContainer("a"), seenContainer("b")]), ""],
  [
    "one is missing: it starts, the other is left alone",
    two,
    seen([seenContainer("a")]),
    "start regular b#0",
  ],
  ["sandbox died: a new one, with the next attempt", aPod(), seen([done("a")], [deadSandbox]), "sandbox 1"],
  [
    "sandbox died while containers run: end them first",
    aPod(),
    seen([seenContainer("a")], [deadSandbox]),
    "kill all, sandbox 1",
  ],
  [
    "two ready sandboxes: end both",
    aPod(),
    seen([], [aSandbox({ id: "s1" as SandboxId, attempt: 1 }), aSandbox()]),
    "kill all, sandbox 2",
  ],
  ["sandbox without an address: replaced", aPod(), seen([], [aSandbox({ ips: [] })]), "kill all, sandbox 1"],
  [
    "host network needs no address of its own",
    aPod({ hostNetwork: true }),
    seen([], [aSandbox({ ips: [], hostNetwork: true })]),
    "start regular a#0",
  ],
  [
    "network namespace changed: replaced",
    aPod({ hostNetwork: true }),
    seen([seenContainer("a")]),
    "kill all, sandbox 1",
  ],
  ["Never and it ran: no new sandbox", never, seen([done("a")], [deadSandbox]), ""],
  ["Never and nothing ran yet: a new sandbox", never, seen([], [deadSandbox]), "sandbox 1"],
  ["OnFailure, all succeeded: no new sandbox", onFailure, seen([done("a")], [deadSandbox]), ""],
  ["OnFailure, one failed: a new sandbox", onFailure, seen([failed("a")], [deadSandbox]), "sandbox 1"],
  // restarts
  ["Always: success is started again", aPod(), seen([done("a")]), "start regular a#1"],
  ["Always: failure is started again", aPod(), seen([failed("a", { attempt: 4 })]), "start regular a#5"],
  ["OnFailure: success is not", onFailure, seen([done("a")]), ""],
  ["OnFailure: failure is", onFailure, seen([failed("a")]), "start regular a#1"],
  ["Never: neither is", never, seen([failed("a")]), ""],
  [
    "the spec changed: the container is ended",
    aPod(),
    seen([seenContainer("a", { hash: "old" })]),
    "kill a-0",
  ],
  [
    "state unknown: ended before anything is started",
    aPod(),
    seen([seenContainer("a", { state: "unknown" })]),
    "kill a-0",
  ],
  [
    "in a new sandbox the count goes on",
    aPod(),
    seen([done("a", { attempt: 2, sandboxId: "old" as SandboxId })]),
    "start regular a#3",
  ],
  [
    "OnFailure: what succeeded in a former sandbox is done",
    aPod({ restartPolicy: "OnFailure", containers: [aContainer("a"), aContainer("b")] }),
    seen([done("a", { sandboxId: "old" as SandboxId }), failed("b", { sandboxId: "old" as SandboxId })]),
    "start regular b#1",
  ],
  // leftovers
  [
    "created and never started: removed, not started",
    aPod(),
    seen([seenContainer("a", { state: "created" })]),
    "remove a-0",
  ],
  [
    "one dead container a name is kept",
    aPod(),
    seen([
      seenContainer("a", { attempt: 3 }),
      done("a", { attempt: 2 }),
      done("a", { attempt: 1 }),
      done("a"),
    ]),
    "remove a-1, remove a-0",
  ],
  [
    "an old sandbox goes with its last container",
    aPod(),
    seen(
      [seenContainer("a", { sandboxId: "s1" as SandboxId, attempt: 1 })],
      [aSandbox({ id: "s1" as SandboxId, attempt: 1 }), deadSandbox],
    ),
    "remove s0",
  ],
  [
    "an old sandbox stays while a dead container of it is kept",
    aPod(),
    seen(
      [seenContainer("a", { sandboxId: "s1" as SandboxId, attempt: 1 }), done("a")],
      [aSandbox({ id: "s1" as SandboxId, attempt: 1 }), deadSandbox],
    ),
    "",
  ],
  [
    "Never and the sandbox died while containers run: they are ended, and no sandbox made",
    never,
    seen([seenContainer("a")], [deadSandbox]),
    "kill all",
  ],
  [
    "Never and the sandbox died after the container: nothing is left to do",
    never,
    seen([done("a")], [deadSandbox]),
    "",
  ],
  [
    "sandboxes that were made in vain do not pile up",
    aPod(),
    seen(
      [],
      [2, 1, 0].map((attempt) => aSandbox({ id: `s${attempt}` as SandboxId, attempt, state: "notready" })),
    ),
    "sandbox 3, remove s1, remove s0",
  ],
  [
    "two run under one name: the older one is ended",
    aPod(),
    seen([seenContainer("a", { attempt: 1 }), seenContainer("a")]),
    "kill a-0",
  ],
  // init containers
  ["init containers start one by one", inits, seen([]), "start init i#0"],
  ["the next waits for the one that runs", inits, seen([seenContainer("i")]), ""],
  ["the next starts when one is done", inits, seen([done("i")]), "start init j#0"],
  ["all done: the regular ones start", inits, seen([done("j"), done("i")]), "start regular a#0"],
  ["a failed one is tried again", inits, seen([failed("i")]), "start init i#1"],
  [
    "Never: a failed one ends it",
    aPod({ restartPolicy: "Never", initContainers: [aContainer("i")] }),
    seen([failed("i")]),
    "",
  ],
  [
    "once regular ones run, inits are not looked at",
    inits,
    seen([seenContainer("a"), failed("j"), done("i")]),
    "",
  ],
  [
    "in a new sandbox init containers run again",
    inits,
    seen([done("i", { sandboxId: "old" as SandboxId })]),
    "start init i#1",
  ],
  // sidecars
  ["a sidecar starts in its turn", sidecar, seen([done("i")]), "start sidecar s#0"],
  [
    "a running sidecar lets the next start",
    sidecar,
    seen([seenContainer("s"), done("i")]),
    "start regular a#0",
  ],
  [
    "a sidecar that ended starts again while regular ones run",
    sidecar,
    seen([seenContainer("a"), done("s"), done("i")]),
    "start sidecar s#1",
  ],
];

for (const [rule, pod, observed, expected] of table)
  test(`plan: ${rule}`, () => assert.equal(summary(pod, observed), expected));

test("plan: a container that ended too soon waits, the others do not", () => {
  const observed = seen([failed("a")]);
  const restartAt = () => 130_000;
  assert.equal(summary(two, observed, { restartAt }), "start regular b#0, delay a until 130000");
  assert.equal(summary(two, observed, { restartAt, now: 130_000 }), "start regular a#1, start regular b#0");
});
