import { join } from "node:path";
import type { Component } from "../../lib/base/component.ts";
import { fullNameOf, type Pod } from "../../lib/model/pod.ts";
import { PodResourcesServer } from "../server/pod-resources/pod-resources-server.ts";
import type { PodResourcesSources } from "../server/pod-resources/sources.ts";
import type { AgentCore } from "./agent-core.ts";

/** The PodResources API. */
export function podResources(
  core: AgentCore,
  activePods: () => readonly Pod[],
  allocated: Omit<PodResourcesSources, "pods">,
): Component {
  const { options, desired, clock, logger, metrics } = core;
  const onlyActive = options.gates.enabled("KubeletPodResourcesListUseActivePods");
  return new PodResourcesServer({
    socketPath: join(options.rootDir, "pod-resources/kubelet.sock"),
    sources: {
      ...allocated,
      pods: {
        active: onlyActive ? activePods : () => desired.all(),
        byName: (namespace, name) => desired.byFullName(fullNameOf({ metadata: { namespace, name } })),
      },
    },
    clock,
    logger,
    metrics,
  });
}
