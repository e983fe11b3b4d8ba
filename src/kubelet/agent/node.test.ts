import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { withDefaults, withFileDefaults } from "../../lib/config/defaults.ts";
import { FeatureGates } from "../../lib/config/feature-gates.ts";
import type { AgentOptions } from "./agent-options.ts";
import { readNode } from "./node.ts";

test("the agent has started before anything of the machine is read", async () => {
  const clock = new FakeClock();
  const gates = new FeatureGates();
  const options: Partial<AgentOptions> = {
    config: withDefaults(withFileDefaults({ cgroupDriver: "cgroupfs" }), gates),
    cgroupLayout: { version: 2, root: "/none" },
    rootDir: "/",
    gates,
    clock,
    logger: silentLogger,
    metrics: createMetrics(),
  };
  const startedAt = clock.wall();
  const reading = readNode(options as AgentOptions);
  clock.jump(60_000);
  assert.equal((await reading).startedAt, startedAt);
});
