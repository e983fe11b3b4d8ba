import type { Component } from "../../lib/base/component.ts";
import { parseIp } from "../../lib/base/ip-address.ts";
import { contentStoreOf } from "../../lib/clients/containerd/content-store.ts";
import { hasExplicitDnsPolicy } from "../../lib/model/explicit-dns-policy.ts";
import { containerLogsDir } from "../node/node-directories.ts";
import type { Pleg } from "../pipeline/pleg/pleg.ts";
import type { CriRequestsOptions } from "../pipeline/pod-runtime/cri-requests.ts";
import { PodFiles } from "../pipeline/pod-runtime/pod-files.ts";
import { PodRuntime } from "../pipeline/pod-runtime/pod-runtime.ts";
import type { PodResizing } from "../pipeline/pod-runtime/resize-pod.ts";
import { restartDelays } from "../pipeline/pod-runtime/restart-backoff.ts";
import type { RuntimeHandlers } from "../pipeline/pod-runtime/runtime-handlers.ts";
import { createStartMetrics } from "../pipeline/pod-runtime/start-metrics.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import type { ImageManager } from "../pods/images/image-manager.ts";
import type { PullTracker } from "../pods/images/progress/pull-tracker.ts";
import { credentialTokens } from "../pods/images/providers/credential-tokens.ts";
import type { PullCredentials } from "../pods/images/pull-credentials.ts";
import { LifecycleHooks } from "../pods/lifecycle/lifecycle-hooks.ts";
import type { UserNamespaces } from "../pods/user-namespaces/user-namespaces.ts";
import { ServiceAccountTokens } from "../pods/volumes/content/tokens/service-account-tokens.ts";
import { imageVolumeMetrics } from "../pods/volumes/image/image-metrics.ts";
import type { PodCgroups } from "../resources/cgroups/pod-cgroups.ts";
import type { AgentCore } from "./agent-core.ts";
import type { NodeDevices } from "./devices.ts";
import type { DynamicResources } from "./dynamic-resources.ts";
import { imageManager } from "./images.ts";
import { podRequests } from "./pod-requests.ts";
import { type PodVolumes, podVolumes } from "./pod-volumes.ts";
import type { StartLimiter } from "./start-limiter.ts";
import { timedPulls } from "./timed-pulls.ts";

export interface RuntimeParts {
  runtime: PodRuntime;
  files: PodFiles;
  volumes: PodVolumes;
  images: ImageManager;
  pulls: PullTracker;
  pullSecrets: Pick<PullCredentials, "reportMissing">;
  /** Must be started before the first pod is synced. */
  components: readonly Component[];
}

/** The pod runtime, with images, hooks, requests and files, as configured. */
export function podRuntime(
  core: AgentCore,
  parts: {
    cgroups: PodCgroups;
    userNamespaces: UserNamespaces;
    resizing: PodResizing;
    pleg: Pleg;
    limiter: StartLimiter;
    handlers: RuntimeHandlers;
    initialSync: InitialSync;
    cpusets: CriRequestsOptions["cpusets"];
    devices: NodeDevices;
    dynamicResources: DynamicResources | undefined;
  },
): RuntimeParts {
  const { options: o, config, node, clock, logger, metrics, cri, events, observed, hostIps } = core;
  const { cgroups, userNamespaces, resizing, pleg, limiter, handlers, dynamicResources } = parts;
  const files = new PodFiles({
    rootDir: o.rootDir,
    podLogsDir: config.podLogsDir,
    containerLogsDir: containerLogsDir(o),
  });
  const delays = restartDelays({
    maxContainerRestartPeriodMs: config.crashLoopBackOff.maxContainerRestartPeriod,
    crashLoopBackOffMax: o.gates.enabled("KubeletCrashLoopBackOffMax"),
    reducedDecay: o.gates.enabled("ReduceDefaultCrashLoopBackOffDecay"),
  });
  const { objects } = core;
  const api = o.cluster?.transport;
  const tokens = new ServiceAccountTokens({ api, clock, logger, metrics });
  const images = imageManager({
    config,
    gates: o.gates,
    rootDir: o.rootDir,
    images: cri,
    providers: o.credentialProviders,
    ...(api && { tokens: credentialTokens(api, tokens) }),
    objects,
    handlers,
    prefetch: o.prefetchImages ?? true,
    pressure: core.pressure,
    pulls: {
      openContent: () => contentStoreOf(core),
      onProgress: (uid) => core.post({ kind: "pull-progress", uid }),
    },
    pullEvents: o.imagePullEvents ?? false,
    events,
    clock,
    logger,
    metrics,
  });
  const volumes = podVolumes(core, {
    tokens,
    initialSync: parts.initialSync,
    pluginHandlers: {
      DevicePlugin: parts.devices.handler,
      ...(dynamicResources && { DRAPlugin: dynamicResources.drivers }),
    },
    recursiveReadOnly: (pod) => core.features.recursiveReadOnly(handlers.of(pod)),
    imageSource: async (pod, { reference = "", pullPolicy }, { signal, sandbox }) => {
      const spec = { image: reference, imagePullPolicy: pullPolicy };
      const { ref } = await images.manager.ensure(pod, spec, await sandbox(), { signal, onPull: () => {} });
      return {
        image: ref,
        userSpecifiedImage: reference,
        runtimeHandler: o.gates.enabled("RuntimeClassInImageCriApi") ? handlers.of(pod) : "",
        annotations: pod.metadata.annotations ?? {},
      };
    },
  });
  const requests = podRequests({
    node: {
      ...node.info,
      get hostIps() {
        return hostIps();
      },
    },
    settings: node.settings,
    clusterDns: config.clusterDNS.flatMap((text) => parseIp(text) ?? []),
    clusterDomain: config.clusterDomain,
    // A single node has no cluster DNS; it is missing only if a pod relies on it.
    reportsMissingDns: (pod) => (o.cluster !== undefined && !o.isSingleNode) || hasExplicitDnsPolicy(pod),
    resolvConf: config.resolvConf ?? "",
    cgroupParentOf: (pod) => cgroups.parentFor(pod),
    events,
    hostnameOverrides: o.gates.enabled("HostnameOverride"),
    nodeEvents: core.nodeEvents,
    userNamespaces,
    features: core.features,
    handlers,
    services: core.view,
    ...(objects && { objects }),
    volumes,
    cpusets: parts.cpusets,
    devices: parts.devices.manager,
    volumeDir: (pod, name) => volumes.pathOf(pod.metadata.uid, name),
    groups: volumes.manager,
    claims: dynamicResources?.claims,
  });
  const runtime = new PodRuntime({
    runtime: cri,
    images: timedPulls(images.manager, core.startupLatency),
    requests,
    cgroups,
    files,
    observed,
    pleg,
    resizing,
    limiter,
    clock,
    logger,
    events,
    hooks: new LifecycleHooks({ runtime: cri, events, clock, logger, metrics, hostIps }),
    metrics: { ...createStartMetrics(metrics), imageVolumes: imageVolumeMetrics(metrics).created },
    probes: core.results,
    replaced: core.replaced,
    starting: core.starting,
    onStarted: (pod, container) =>
      core.post({ kind: "container-started", uid: pod.metadata.uid, pod, container }),
    gates: core.restartGates,
    maxDeadPerContainer: o.deadContainers?.maxPerContainer,
    minDeadAgeMs: o.deadContainers?.minAgeMs,
    maxRestartDelayMs: delays.maxMs,
    firstRestartDelayMs: delays.initialMs,
  });
  const { pullSecrets, pulls } = images;
  return {
    runtime,
    files,
    volumes,
    images: images.manager,
    pulls,
    pullSecrets,
    components: [...images.components, ...volumes.components],
  };
}
