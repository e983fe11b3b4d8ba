import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { reportMissingFeatures } from "./declared-features.ts";

const withResources = (cpu: string) => aPod({ resources: { requests: { cpu } } });

function reported(op: "ADD" | "UPDATE", declared: readonly string[] | undefined, pods: Pod[]): string[] {
  const events: string[] = [];
  reportMissingFeatures(
    { op, source: "api", pods },
    {
      declared,
      desired: { get: () => withResources("1") },
      events: { warning: (_pod, reason, message) => void events.push(`${reason}: ${message}`) },
    },
  );
  return events;
}

test("an update that needs a feature that the node does not declare is reported", () => {
  const feature = "InPlacePodLevelResourcesVerticalScaling";
  const pods = [withResources("2")];
  assert.deepEqual(reported("UPDATE", [], pods), [
    `FailedNodeDeclaredFeaturesCheck: Pod requires node features that are not available: ${feature}`,
  ]);
  assert.deepEqual(reported("UPDATE", [feature], pods), []);
  assert.deepEqual(reported("UPDATE", [], [withResources("1")]), []);
  assert.deepEqual(reported("UPDATE", undefined, pods), []);
  assert.deepEqual(reported("ADD", [], pods), []);
});
