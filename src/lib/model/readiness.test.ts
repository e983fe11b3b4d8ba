import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/builders/pods.ts";
import type { ContainerStatus, PodStatus } from "./pod.ts";
import { readinessOf } from "./readiness.ts";

const status = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
  name,
  image: "",
  imageID: "",
  restartCount: 0,
  ready: false,
  ...more,
});
const running = { state: { running: {} } };
const notReady = { type: "Ready", status: "False", reason: "ContainersNotReady" };
const side = aContainer("side", { restartPolicy: "Always" });

const table: [name: string, status: PodStatus, expected: string | undefined][] = [
  ["the pod is ready", { conditions: [{ type: "Ready", status: "True" }] }, "ready"],
  ["there is no status yet", {}, undefined],
  [
    "a container does not run, which its worker reports",
    { conditions: [notReady], containerStatuses: [status("a", { state: { waiting: { reason: "X" } } })] },
    undefined,
  ],
  [
    "a container runs and is not ready",
    { conditions: [notReady], containerStatuses: [status("a", { ...running, started: true })] },
    "readiness a: waiting for the readiness probe of a",
  ],
  [
    "a container has not started",
    { conditions: [notReady], containerStatuses: [status("a", { ...running, started: false })] },
    "startup a: waiting for the startup probe of a",
  ],
  [
    "a container has not started and a sidecar is not ready",
    {
      conditions: [notReady],
      initContainerStatuses: [status("side", { ...running, started: true })],
      containerStatuses: [status("a", { ...running, started: false })],
    },
    "startup a: waiting for the startup probe of a",
  ],
  [
    "only a sidecar is not ready",
    {
      conditions: [notReady],
      initContainerStatuses: [status("side", { ...running, started: true })],
      containerStatuses: [status("a", { ...running, started: true, ready: true })],
    },
    "readiness side: waiting for the readiness probe of side",
  ],
  [
    "only an init container runs",
    { conditions: [notReady], initContainerStatuses: [status("first", { ...running, started: true })] },
    undefined,
  ],
  [
    "a readiness gate is not ready",
    {
      conditions: [{ type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: "m" }],
      containerStatuses: [status("a", { ...running, started: true, ready: true })],
    },
    "gate undefined: waiting for a readiness gate: m",
  ],
];

for (const [name, given, expected] of table)
  test(`"${expected ?? "nothing"}" is reported if ${name}`, () => {
    const pod = aPod({ initContainers: [aContainer("first"), side] });
    const { isReady, why } = readinessOf(pod, given);
    const reason = why && `${why.kind} ${why.container}: ${why.text}`;
    assert.equal(isReady ? "ready" : reason, expected);
  });
