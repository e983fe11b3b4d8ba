import { LogindClient } from "../../lib/clients/systemd/logind-client.ts";
import type { ApiStatuses } from "../pipeline/status-manager/api-statuses.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import { NodeShutdown } from "../resources/node-shutdown/node-shutdown.ts";
import { shutdownPeriods } from "../resources/node-shutdown/shutdown-groups.ts";
import { ShutdownRecord } from "../resources/node-shutdown/shutdown-record.ts";
import type { AgentCore } from "./agent-core.ts";
import type { PodParts } from "./pod-parts.ts";

const confDir = "/etc/systemd/logind.conf.d";

/** Delays shutdowns of the machine until its pods have terminated; undefined unless that is configured. */
export function nodeShutdown(
  core: AgentCore,
  parts: Pick<PodParts, "activePods"> & {
    readonly initialSync: Pick<InitialSync, "isComplete">;
    /** Undefined without an API. */
    readonly apiStatuses: Pick<ApiStatuses, "isWritten"> | undefined;
  },
): NodeShutdown | undefined {
  const { config, options, clock, logger, events, nodeEvents, metrics, shutdown: state, post } = core;
  const { workers } = core;
  const { activePods, initialSync, apiStatuses } = parts;
  if (!options.gates.enabled("GracefulNodeShutdown")) return undefined;
  // A local node changes nothing on the machine.
  if (!options.host && !options.logind) return undefined;
  const isByPriority = options.gates.enabled("GracefulNodeShutdownBasedOnPodPriority");
  // As upstream, the metrics of a node that does not delay shutdowns are 0.
  const record = isByPriority ? new ShutdownRecord({ rootDir: options.rootDir, logger, metrics }) : undefined;
  const periods = shutdownPeriods(config, isByPriority);
  if (periods.length === 0) return undefined;
  return new NodeShutdown({
    periods,
    activePods,
    initialSync,
    apiStatuses,
    state,
    record,
    events,
    nodeEvents,
    clock,
    logger,
    confDir: options.logind?.confDir ?? confDir,
    logind: (listener) =>
      new LogindClient({
        clock,
        ...listener,
        ...(options.logind && { socketPath: options.logind.socketPath }),
      }),
    terminationOf: (uid) => {
      const worker = workers.get(uid);
      if (!worker) return "finished";
      if (worker.phase !== "terminated") return "none";
      return worker.resourcesReclaimed ? "finished" : "terminated";
    },
    onTerminate: (uid, termination) => post({ kind: "pod-shutdown", uid, ...termination }),
    onChange: () => post({ kind: "shutdown-changed" }),
  });
}
