import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import type { PodEvents } from "../../lib/model/pod-events.ts";
import type { ManifestRules } from "../../lib/model/static-pod.ts";
import { FileSource } from "../pipeline/sources/file-source.ts";
import { HttpSource } from "../pipeline/sources/http-source.ts";
import type { PodSource } from "../pipeline/sources/source.ts";
import type { ManifestStore } from "../server/manifests/manifest-store.ts";
import type { Route } from "../server/route.ts";
import type { AgentCore } from "./agent-core.ts";
import { appliedManifests, manifestRules } from "./applied-manifests.ts";

export interface PodSources {
  readonly sources: readonly PodSource[];
  /** Routes for applied manifests. */
  readonly routes: readonly Route[];
  /** Undefined if the sources were replaced. */
  readonly manifests: ManifestStore | undefined;
  /** Where duplicate pods are reported. The log has them already. */
  readonly events: Pick<PodEvents, "warning"> | undefined;
}

/** All pod sources of this agent. */
export function podSources(core: AgentCore): PodSources {
  const { options: o, config, node, clock, logger } = core;
  const events = core.cluster?.recorder;
  // The pods that the API assigns to this node.
  const ofCluster = core.cluster ? [core.cluster.source] : [];
  if (o.sources)
    return {
      sources: [...o.sources(node.name), ...ofCluster],
      routes: [],
      manifests: undefined,
      events,
    };
  const applied = appliedManifests(core);
  const configured = configuredSources(config, {
    nodeName: node.name,
    clock,
    logger,
    ...manifestRules(o),
    events,
  });
  const sources = [...configured, applied.source, ...ofCluster];
  return { sources, routes: applied.routes, manifests: applied.store, events };
}

/** The configured pod sources. */
function configuredSources(
  config: KubeletConfiguration,
  common: ManifestRules & {
    readonly nodeName: string;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly events: Pick<PodEvents, "warning"> | undefined;
  },
): PodSource[] {
  const sources: PodSource[] = [];
  if (config.staticPodPath)
    sources.push(
      new FileSource({
        path: config.staticPodPath,
        rescanMs: config.fileCheckFrequency,
        ...common,
      }),
    );
  if (config.staticPodURL)
    sources.push(
      new HttpSource({
        url: config.staticPodURL,
        headers: config.staticPodURLHeader,
        pollMs: config.httpCheckFrequency,
        ...common,
      }),
    );
  return sources;
}
