import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../../test/builders/pods.ts";
import type { ContainerStatus, PodStatus } from "../../../lib/model/pod.ts";
import { readinessOf } from "./readiness.ts";

const status = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
  ...{ name, image: "", imageID: "", restartCount: 0, ready: false },
  ...more,
});
const running = { state: { running: {} } };
const notReady = { type: "Ready", status: "False", reason: "ContainersNotReady" };
const side = aContainer("side", { restartPolicy: "Always" });

const table: [name: string, status: PodStatus, expected: string | undefined][] = [
  ["the pod is ready", { conditions: [{ type: "Ready", status: "True" }] }, "ready"],
  ["there is no status yet", {}, undefined],
  [
    "a container does not run: its worker reports that",
    { conditions: [notReady], containerStatuses: [status("a", { state: { waiting: { reason: "X" } } })] },
    undefined,
  ],
  [
    "it runs and is not ready",
    { conditions: [notReady], containerStatuses: [status("a", { ...running, started: true })] },
    "readiness a: waiting for the readiness probe of a",
  ],
  [
    "it has not started",
    { conditions: [notReady], containerStatuses: [status("a", { ...running, started: false })] },
    "startup a: waiting for the startup probe of a",
  ],
  [
    "a container that has not started comes first",
    {
      conditions: [notReady],
      initContainerStatuses: [status("side", { ...running, started: true })],
      containerStatuses: [status("a", { ...running, started: false })],
    },
    "startup a: waiting for the startup probe of a",
  ],
  [
    "a sidecar is included",
    {
      conditions: [notReady],
      initContainerStatuses: [status("side", { ...running, started: true })],
      containerStatuses: [status("a", { ...running, started: true, ready: true })],
    },
    "readiness side: waiting for the readiness probe of side",
  ],
  [
    "a running init container does not count",
    { conditions: [notReady], initContainerStatuses: [status("first", { ...running, started: true })] },
    undefined,
  ],
  [
    "a gate is closed",
    {
      conditions: [{ type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message: "m" }],
      containerStatuses: [status("a", { ...running, started: true, ready: true })],
    },
    "gate undefined: waiting for a readiness gate: m",
  ],
];

for (const [name, given, expected] of table)
  test(`readiness: ${name}`, () => {
    const pod = aPod({ initContainers: [aContainer("first"), side] });
    const { isReady, why } = readinessOf(pod, given);
    const reason = why && `${why.kind} ${why.container}: ${why.text}`;
    assert.equal(isReady ? "ready" : reason, expected);
  });
