import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { FeatureGates } from "../../lib/config/feature-gates.ts";
import type { AgentCore } from "./agent-core.ts";
import { nodeShutdown } from "./node-shutdown.ts";

const byPriority = [{ priority: 0, shutdownGracePeriodSeconds: 20 }];

// parity: gate GracefulNodeShutdown=true, gate GracefulNodeShutdown=false
// parity: gate GracefulNodeShutdownBasedOnPodPriority=true, gate GracefulNodeShutdownBasedOnPodPriority=false
for (const [settings, period, periods, delays] of [
  [{}, 30_000, [], true],
  [{ GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false }, 30_000, [], false],
  [{ GracefulNodeShutdownBasedOnPodPriority: false }, 30_000, [], true],
  [{}, 0, byPriority, true],
  [{ GracefulNodeShutdownBasedOnPodPriority: false }, 0, byPriority, false],
] as const)
  test(`a shutdown is ${delays ? "" : "not "}delayed: ${JSON.stringify([settings, period, periods])}`, () => {
    const config = {
      shutdownGracePeriod: period,
      shutdownGracePeriodCriticalPods: 0,
      shutdownGracePeriodByPodPriority: periods,
    };
    const logind = { socketPath: "/none", confDir: "/none" };
    const core = {
      config,
      clock: new FakeClock(),
      logger: silentLogger,
      metrics: createMetrics(),
      options: { gates: new FeatureGates(settings), logind, rootDir: "/none" },
    } as unknown as AgentCore;
    const parts = {
      activePods: () => [],
      initialSync: { isComplete: () => true },
      apiStatuses: undefined,
    };
    assert.equal(nodeShutdown(core, parts) !== undefined, delays);
  });
