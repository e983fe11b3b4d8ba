import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../test/builders/pods.ts";
import { notActedOn } from "./not-acted-on.ts";

test("fields that change nothing yet are named with their path, and only those that are set", () => {
  const pod = aPod({
    volumes: [],
    activeDeadlineSeconds: 5,
    initContainers: [aContainer("i", { startupProbe: { exec: { command: ["true"] } } })],
    containers: [aContainer("a"), aContainer("b", { lifecycle: { preStop: { sleep: { seconds: 1 } } } })],
  });
  assert.deepEqual(notActedOn(pod), [
    "spec.activeDeadlineSeconds",
    "spec.initContainers[0].startupProbe",
    "spec.containers[1].lifecycle",
  ]);
  assert.deepEqual(notActedOn(aPod()), []);
});
