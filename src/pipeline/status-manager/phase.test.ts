import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, seen, seenContainer } from "../../../test/builders/pods.ts";
import type { SandboxId } from "../../clients/cri/cri.ts";
import type { Pod } from "../../model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { type PodPhase, podPhase } from "./phase.ts";

const policies = ["Always", "OnFailure", "Never"] as const;
type Policy = (typeof policies)[number];
const two = (restartPolicy: Policy) =>
  aPod({ restartPolicy, containers: [aContainer("a"), aContainer("b")] });
const withInit = (restartPolicy: Policy) => aPod({ restartPolicy, initContainers: [aContainer("i")] });
const withSidecar = (restartPolicy: Policy) =>
  aPod({ restartPolicy, initContainers: [aContainer("s", { restartPolicy: "Always" })] });
const run = (name: string, more = {}) => seenContainer(name, more);
const done = (name: string, more = {}) => seenContainer(name, { state: "exited", ...more });
const failed = (name: string, more = {}) => seenContainer(name, { state: "exited", exitCode: 1, ...more });
const made = (name: string, more = {}) => seenContainer(name, { state: "created", ...more });

type Row = [
  rule: string,
  pod: (policy: Policy) => Pod,
  containers: ObservedContainer[] | undefined,
  phases: [always: PodPhase, onFailure: PodPhase, never: PodPhase],
];
const all = (phase: PodPhase): [PodPhase, PodPhase, PodPhase] => [phase, phase, phase];
const table: Row[] = [
  ["nothing there", two, undefined, all("Pending")],
  ["only a sandbox", two, [], all("Pending")],
  ["all run", two, [run("a"), run("b")], all("Running")],
  ["one is missing", two, [run("a")], all("Pending")],
  ["one is made and not started", two, [run("a"), made("b")], all("Pending")],
  ["one ended, one is missing", two, [failed("a")], all("Pending")],
  ["one runs, one succeeded", two, [run("a"), done("b")], all("Running")],
  ["one runs, one failed", two, [run("a"), failed("b")], all("Running")],
  ["all succeeded", two, [done("a"), done("b")], ["Running", "Succeeded", "Succeeded"]],
  ["all failed", two, [failed("a"), failed("b")], ["Running", "Running", "Failed"]],
  ["one failed, one succeeded", two, [failed("a"), done("b")], ["Running", "Running", "Failed"]],
  [
    "failed before, succeeded now",
    two,
    [done("a", { attempt: 1 }), failed("a"), done("b")],
    ["Running", "Succeeded", "Succeeded"],
  ],
  ["being restarted", two, [made("a", { attempt: 1 }), failed("a"), run("b")], all("Running")],
  ["state unknown", two, [run("a", { state: "unknown" }), run("b")], all("Running")],
  // init containers
  ["init: not there", withInit, [], all("Pending")],
  ["init: runs", withInit, [run("i")], all("Pending")],
  ["init: done, the rest not yet", withInit, [done("i")], all("Pending")],
  ["init: failed", withInit, [failed("i")], ["Pending", "Pending", "Failed"]],
  ["init: being restarted", withInit, [made("i", { attempt: 1 }), failed("i")], all("Pending")],
  ["init: done, the rest runs", withInit, [done("i"), run("a")], all("Running")],
  ["init: done, the rest too", withInit, [done("i"), done("a")], ["Running", "Succeeded", "Succeeded"]],
  ["init: dead one is gone, the rest runs", withInit, [run("a")], all("Running")],
  [
    "init: runs again in a new sandbox",
    withInit,
    [run("i", { attempt: 1, sandboxId: "s1" as SandboxId }), failed("a"), done("i")],
    all("Pending"),
  ],
  // sidecars
  ["sidecar: not there", withSidecar, [], all("Pending")],
  ["sidecar: runs, the rest not yet", withSidecar, [run("s")], all("Pending")],
  ["sidecar: runs, the rest too", withSidecar, [run("s"), run("a")], all("Running")],
  ["sidecar: ended, the rest runs", withSidecar, [failed("s"), run("a")], all("Running")],
  [
    "sidecar: still runs, the rest succeeded",
    withSidecar,
    [run("s"), done("a")],
    ["Running", "Succeeded", "Succeeded"],
  ],
  [
    "sidecar: ended badly, the rest succeeded",
    withSidecar,
    [failed("s"), done("a")],
    ["Running", "Succeeded", "Succeeded"],
  ],
  [
    "sidecar: ended, the rest failed",
    withSidecar,
    [done("s"), failed("a")],
    ["Running", "Running", "Failed"],
  ],
];
for (const [rule, pod, containers, phases] of table)
  policies.forEach((policy, i) => {
    const observed: ObservedPod | undefined = containers && seen(containers);
    test(`phase (${policy}): ${rule}`, () => assert.equal(podPhase(pod(policy), observed), phases[i]));
  });
