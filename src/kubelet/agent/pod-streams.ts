import { fullNameOf, type Pod } from "../../lib/model/pod.ts";
import { containerLogs } from "../server/logs/container-logs.ts";
import type { Route } from "../server/route.ts";
import { streamingRoutes } from "../server/streaming/routes.ts";
import type { AgentCore } from "./agent-core.ts";
import type { PodListeners } from "./pod-listeners.ts";

/** Logs, exec, attach and port forwarding, for the kubelet API and the console. */
export interface PodStreams {
  readonly logs: Route;
  readonly streaming: readonly Route[];
}

export function podStreams(core: AgentCore, listeners: PodListeners): PodStreams {
  const { config, clock, logger, metrics, options, cri, desired, statuses, observed } = core;
  const gates = (name: string) => options.gates.enabled(name);
  const logged = {
    pod: (namespace: string, name: string) =>
      desired.byFullName(fullNameOf({ metadata: { namespace, name } } as Pod)),
    status: (pod: Pod) => statuses.get(pod.metadata.uid),
    container: (pod: Pod, id: string) => {
      const found = observed.get(pod.metadata.uid)?.containers.find((c) => c.id === id);
      return (
        found && { logPath: found.logPath, running: found.state === "running" || found.state === "unknown" }
      );
    },
    onChange: (pod: Pod, listener: () => void) => listeners.listen(pod.metadata.uid, listener),
  };
  return {
    logs: containerLogs({ pods: logged, splitStreams: gates("PodLogsQuerySplitStreams"), clock, logger }),
    streaming: streamingRoutes({
      runtime: cri,
      desired,
      observed,
      idleMs: config.streamingConnectionIdleTimeout,
      translate: gates("ExtendWebSocketsToKubelet"),
      clock,
      metrics,
    }),
  };
}
