import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStatus } from "../../../lib/model/pod.ts";
import { withMirrorTimes } from "./status-manager.ts";

const at = (type: string, status: "True" | "False", lastTransitionTime: string) => ({
  type,
  status,
  lastTransitionTime,
});

test("unchanged conditions get the times of the mirror, others keep theirs", () => {
  const own: PodStatus = {
    startTime: "2026-01-02T00:00:00Z",
    conditions: [at("Ready", "True", "now"), at("Initialized", "True", "now"), at("Other", "True", "now")],
  };
  const previous: PodStatus = {
    startTime: "2026-01-01T00:00:00Z",
    conditions: [at("Ready", "False", "then"), at("Initialized", "True", "then")],
  };
  assert.deepEqual(withMirrorTimes(previous, own), {
    startTime: "2026-01-01T00:00:00Z",
    conditions: [at("Ready", "True", "now"), at("Initialized", "True", "then"), at("Other", "True", "now")],
  });
  assert.equal(withMirrorTimes(undefined, own), own);
});
