import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import type { StepKind } from "../../lib/model/pod-step.ts";
import type { PullProgress } from "../../lib/model/pull-progress.ts";
import { StepHistory } from "../state/step-history.ts";
import { waitText } from "./wait-text.ts";

const pod = aPod({
  initContainers: [aContainer("init", { image: "init:1" })],
  containers: [aContainer("app", { image: "app" })],
  volumes: [{ name: "data", image: { reference: "data:1" } }],
});

function pullOf(image: string): PullProgress {
  return {
    image,
    registry: "docker.io",
    state: "pulling",
    elapsedMs: 5000,
    bytes: { done: 50e6, total: 100e6 },
    layers: { done: 1, total: 2 },
    bytesPerSecond: 10e6,
    leftMs: 5000,
    idleMs: 0,
    networkBytesPerSecond: null,
  };
}

/** A pod that waits in this step. */
function waiting(kind: StepKind, container?: string) {
  const history = new StepHistory(0);
  history.startStep({ kind, text: "the step", ...(container !== undefined && { container }) }, 0);
  return { pod, history, blockedOn: { text: "the step", since: 0 } };
}

const table: [rule: string, worker: ReturnType<typeof waiting>, images: string[], text: string][] = [
  [
    "a container that waits for its image shows how far the image is",
    waiting("image", "init"),
    ["app:latest", "init:1"],
    "pulling init:1, 50 % of 100 MB, 5 s left",
  ],
  [
    "an image without a tag is pulled as latest",
    waiting("image", "app"),
    ["app:latest"],
    "pulling app:latest, 50 % of 100 MB, 5 s left",
  ],
  [
    "a volume that is an image shows how far the image is",
    waiting("volumes"),
    ["app:latest", "data:1"],
    "pulling data:1, 50 % of 100 MB, 5 s left",
  ],
  [
    "an early pull for another container is not what the pod waits for",
    waiting("image", "init"),
    ["app:latest"],
    "the step",
  ],
  [
    "an early pull is not what a pod waits for that mounts volumes",
    waiting("volumes"),
    ["app:latest"],
    "the step",
  ],
  ["an early pull is not what another step waits for", waiting("init", "init"), ["app:latest"], "the step"],
];

for (const [rule, worker, images, text] of table)
  test(rule, () => assert.equal(waitText(worker, images.map(pullOf)), text));

test("a pod that waits for nothing has no text", () => {
  const worker = { ...waiting("image", "app"), blockedOn: undefined };
  assert.equal(waitText(worker, [pullOf("app:latest")]), undefined);
});
