import { whenAborted } from "../../lib/base/abort.ts";
import type { Component } from "../../lib/base/component.ts";
import { AllocatedClaims } from "../resources/dra/allocated-claims.ts";
import { ClaimManager } from "../resources/dra/claim-manager.ts";
import { type ClaimStates, usersOf } from "../resources/dra/claim-state.ts";
import { DevicesHealth } from "../resources/dra/device-health.ts";
import { draMetrics } from "../resources/dra/dra-metrics.ts";
import { DraDrivers } from "../resources/dra/drivers.ts";
import { watchHealth } from "../resources/dra/health-watch.ts";
import { OrphanedClaims } from "../resources/dra/orphaned-claims.ts";
import { ResourceApi } from "../resources/dra/resource-api.ts";
import { ContainerHealth } from "../resources/dra/resource-status.ts";
import { SliceCleanup } from "../resources/dra/slice-cleanup.ts";
import type { AgentCore } from "./agent-core.ts";

export type DynamicResources = NonNullable<ReturnType<typeof dynamicResources>>;

/** The resource claims of pods and their drivers. Undefined without an API server: it has the claims. */
export function dynamicResources(core: AgentCore) {
  const { options: o, node, clock, logger, metrics, observed, view, post } = core;
  if (!o.cluster || !view) return undefined;
  const api = new ResourceApi(o.cluster.transport, node.name);
  const states: ClaimStates = new Map();
  const measured = draMetrics(metrics, clock, states);
  const slices = new SliceCleanup({ clock, logger, api, view });
  const health = new DevicesHealth(clock, (driver) => {
    for (const uid of usersOf(states, driver)) post({ kind: "device-health-changed", uid });
  });
  const drivers = new DraDrivers({
    clock,
    logger,
    slices,
    metrics: measured,
    onConnected: (driver) => post({ kind: "dra-driver-connected", driver }),
    ...(o.gates.enabled("ResourceHealthStatus") && {
      watchHealth: (driver, channel, signal) =>
        void watchHealth({ health, clock, logger }, driver, channel, signal),
    }),
  });
  const claims = new ClaimManager({
    rootDir: o.rootDir,
    clock,
    logger,
    states,
    observed,
    metrics: measured,
    api,
    drivers,
    extendedResources: o.gates.enabled("DRAExtendedResource"),
    podGroups: o.gates.enabled("DRAWorkloadResourceClaims"),
  });
  const orphans = new OrphanedClaims(claims, logger);
  return {
    claims,
    drivers,
    orphans,
    allocated: new AllocatedClaims(claims),
    health: new ContainerHealth({
      claims,
      health,
      withMessage: o.gates.enabled("ResourceHealthStatusMessage"),
    }),
    component: componentOf({ claims, slices, orphans, drivers }),
  };
}

function componentOf(parts: {
  claims: ClaimManager;
  slices: SliceCleanup;
  orphans: OrphanedClaims;
  drivers: DraDrivers;
}): Component {
  const { claims, slices, orphans, drivers } = parts;
  const ended = Promise.withResolvers<void>();
  return {
    name: "dynamic-resources",
    start: async (signal) => {
      await claims.load();
      slices.start(signal);
      orphans.start(signal);
      whenAborted(signal, () => {
        drivers.close();
        void Promise.all([slices.ended(), orphans.ended()]).then(() => ended.resolve());
      });
    },
    done: ended.promise,
  };
}
