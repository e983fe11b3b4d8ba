import { type Component, healthy } from "../../lib/base/component.ts";
import type { ServingCertificate } from "../certs/serving-certificate.ts";
import type { Explainer } from "../explain/explain-node.ts";
import type { PodExplanations } from "../explain/pod-explanations.ts";
import type { HealthCheck } from "../server/health-report.ts";
import { HealthServer } from "../server/health-server.ts";
import { healthSlis } from "../server/health-slis.ts";
import { LocalApi } from "../server/local-api.ts";
import type { Stats } from "../stats/stats.ts";
import type { AgentCore } from "./agent-core.ts";
import { type ConsoleServing, nodeConsole } from "./console.ts";
import { kubeletServer } from "./kubelet-server.ts";
import type { PodListeners } from "./pod-listeners.ts";
import type { PodParts } from "./pod-parts.ts";
import { podStreams } from "./pod-streams.ts";
import type { PodSources } from "./sources.ts";

export interface AgentEndpoints {
  readonly handlers: Partial<ConsoleServing["handlers"]>;
  /** A new link to the console; undefined if it is off. */
  readonly consoleLink: () => string | undefined;
  /** Started before anything else, so that the health of a starting agent can be checked. The read-only port serves when it is healthy. */
  readonly first: readonly Component[];
  /** The kubelet API and the console. Must be started in this order. */
  readonly serving: readonly Component[];
  readonly healthPort: () => number | undefined;
  readonly serverPort: () => number | undefined;
}

/** The endpoints of the agent: /healthz, the local socket for root, and the kubelet API if it is configured. */
export async function agentEndpoints(
  core: AgentCore,
  parts: {
    /** The checks of /healthz of the kubelet API. */
    readonly checks: readonly HealthCheck[];
    readonly pods: PodParts;
    readonly explanations: PodExplanations;
    /** All started components. */
    readonly components: () => readonly Component[];
    readonly explainer: Explainer;
    readonly stats: Stats;
    readonly listeners: PodListeners;
    readonly certificate: ServingCertificate | undefined;
    /** Routes for applied manifests: always on the socket, on the port if the options allow it. */
    readonly manifests: Pick<PodSources, "routes" | "manifests">;
  },
): Promise<AgentEndpoints> {
  const { options: o, config, logger } = core;
  const { checks, pods, stats, components, certificate, manifests, explainer } = parts;
  const { overview, probeMetrics } = pods;
  const streams = podStreams(core, parts.listeners);
  const console = nodeConsole(core, {
    pods,
    explanations: parts.explanations,
    stats,
    streams,
    explainer,
    certificate,
    manifests: manifests.manifests,
  });
  const { certificateWait } = o.cluster ?? {};
  const information = () => [
    ...(certificateWait
      ? [{ name: "client-certificate", health: () => ({ ...healthy, note: certificateWait() }) }]
      : []),
    ...checks.filter(({ name }) => name !== "ping"),
    ...components().flatMap((component) => {
      const { name, health } = component;
      const isCheck = checks.some((check) => check.name === name);
      return health && !isCheck ? [{ name, health: () => health.call(component) }] : [];
    }),
  ];
  const slis = healthSlis();
  const health = new HealthServer({
    address: config.healthzBindAddress,
    port: o.healthPort ?? (config.healthzPort || -1),
    logger,
    clock: core.clock,
    information,
    onChecked: slis.observe,
  });
  const server =
    o.server &&
    (await kubeletServer(core, {
      explainer,
      stats,
      streams,
      probeMetrics,
      console,
      version: o.server.version,
      certificate: config.enableServer ? certificate : undefined,
      checks: () => checks,
      slis,
      manifests: o.server.manifests ? manifests.routes : [],
    }));
  if (server) console?.servedBy(server);
  const socketPath = `${o.rootDir}/kubelet.sock`;
  const localApi = new LocalApi({
    socketPath,
    logger,
    overview,
    explainer,
    routes: [...manifests.routes, ...(console?.localRoutes ?? [])],
  });
  return {
    first: [...(server?.readOnly ? [server.readOnly] : []), health, localApi],
    serving: [...(server?.components ?? []), ...(console?.components ?? [])],
    handlers: console?.handlers ?? {},
    consoleLink: () => console?.link(),
    healthPort: () => health.port,
    serverPort: () => server?.port(),
  };
}
