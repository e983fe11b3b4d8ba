import { type Component, type Health, healthy } from "../../lib/base/component.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { HealthServer } from "../server/health-server.ts";
import { healthSlis } from "../server/health-slis.ts";
import { LocalApi, type LocalApiOptions } from "../server/local-api.ts";
import type { Route } from "../server/route.ts";
import type { Stats } from "../stats/stats.ts";
import type { AgentCore } from "./agent-core.ts";
import type { ConsoleServing } from "./console.ts";
import { kubeletServer } from "./kubelet-server.ts";
import type { PodStreams } from "./pod-streams.ts";
import type { ServingCertificate } from "./serving-certificate.ts";

export interface AgentEndpoints {
  /** Started before anything else, so that the health of a starting agent can be checked. */
  readonly first: readonly Component[];
  /** The kubelet API. Must be started in this order. */
  readonly serving: readonly Component[];
  readonly healthPort: () => number | undefined;
  readonly serverPort: () => number | undefined;
}

/** The endpoints of the agent: /healthz, the local socket for root, and the kubelet API if it is configured. */
export async function agentEndpoints(
  core: AgentCore,
  parts: Pick<LocalApiOptions, "overview"> & {
    readonly loop: { health(): Health };
    readonly pleg: { health(): Health };
    /** All started components. */
    readonly components: () => readonly Component[];
    readonly explain: LocalApiOptions["explain"];
    readonly statuses: StatusManager;
    readonly stats: Stats;
    readonly streams: PodStreams;
    readonly probeMetrics: Metrics;
    readonly certificate: ServingCertificate | undefined;
    /** Routes for applied manifests: always on the socket, on the port if the options allow it. */
    readonly manifests: readonly Route[];
    /** Undefined if it is off. */
    readonly console: ConsoleServing | undefined;
  },
): Promise<AgentEndpoints> {
  const { options: o, config, logger, connection } = core;
  const { loop, pleg, components, overview, certificate, manifests, ...served } = parts;
  const { certificate: missingCertificate } = o.cluster ?? {};
  const checks = () => [
    { name: "ping", health: () => healthy },
    // Lines are written synchronously: there is no queue that could fall behind.
    { name: "log", health: () => healthy },
    { name: "syncloop", health: () => loop.health() },
    { name: "pleg", health: () => pleg.health() },
    // Before the first response its health is unknown.
    {
      name: "runtime",
      health: () => (connection.state.kind === "unknown" ? healthy : connection.health()),
    },
    // A restart does not get a certificate sooner, so this never fails.
    ...(missingCertificate
      ? [{ name: "client-certificate", health: () => ({ ...healthy, note: missingCertificate() }) }]
      : []),
  ];
  const checked: readonly unknown[] = [loop, pleg, connection];
  const information = () =>
    components().flatMap((component) =>
      component.health && !checked.includes(component)
        ? [{ name: component.name, health: () => component.health?.() ?? healthy }]
        : [],
    );
  const slis = healthSlis();
  const health = new HealthServer({
    address: config.healthzBindAddress,
    port: o.healthPort ?? (config.healthzPort || -1),
    logger,
    clock: core.clock,
    checks,
    information,
    onChecked: slis.observe,
  });
  const server =
    o.server &&
    certificate &&
    (await kubeletServer(core, {
      ...served,
      version: o.server.version,
      certificate,
      checks,
      slis,
      manifests: o.server.manifests ? manifests : [],
    }));
  const socketPath = `${o.rootDir}/kubelet.sock`;
  const localApi = new LocalApi({
    ...{ socketPath, logger, overview, explain: parts.explain },
    routes: [...manifests, ...(parts.console?.localRoutes ?? [])],
  });
  return {
    first: [health, localApi],
    serving: server?.components ?? [],
    healthPort: () => health.port,
    serverPort: () => server?.port(),
  };
}
