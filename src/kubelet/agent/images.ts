import { homedir } from "node:os";
import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Metrics } from "../../lib/base/metrics.ts";
import type { ImageService } from "../../lib/clients/cri/cri.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { readReceivedBytes } from "../../lib/host/network-usage.ts";
import type { PodEvents } from "../../lib/model/pod-events.ts";
import type { RuntimeHandlers } from "../pipeline/pod-runtime/runtime-handlers.ts";
import type { PodObjects } from "../pods/api-objects/pod-objects.ts";
import { ImageManager } from "../pods/images/image-manager.ts";
import { NodeDockerConfig } from "../pods/images/node-docker-config.ts";
import { PullTracker, type PullTrackerOptions } from "../pods/images/progress/pull-tracker.ts";
import { CredentialProviders } from "../pods/images/providers/credential-providers.ts";
import type { LoadedProviders } from "../pods/images/providers/load-providers.ts";
import type { TokenSource } from "../pods/images/providers/token-source.ts";
import { PullCredentials } from "../pods/images/pull-credentials.ts";
import { PullRecords } from "../pods/images/records/pull-records.ts";
import { verificationPolicy } from "../pods/images/records/verification-policy.ts";
import type { NodePressure } from "../state/node-pressure.ts";

export interface ImageParts {
  config: KubeletConfiguration;
  gates: { enabled(name: string): boolean };
  rootDir: string;
  images: Pick<ImageService, "imageStatus" | "pullImage" | "listImages">;
  /** Credential provider plugins, if configured. */
  providers: LoadedProviders | undefined;
  /** Service account tokens for plugins that use them. */
  tokens?: TokenSource;
  /** Has the pull secrets of pods; undefined without a source of Secrets. */
  objects: Pick<PodObjects, "find"> | undefined;
  handlers: RuntimeHandlers;
  /** False if images are pulled only when a container needs them. */
  prefetch: boolean;
  pressure: Pick<NodePressure, "conditions">;
  pulls: Pick<PullTrackerOptions, "openContent" | "onProgress">;
  /** An event a minute about a long pull. */
  pullEvents: boolean;
  events: PodEvents;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/** The image manager, as configured, and the components to be started before it is used. */
export function imageManager(parts: ImageParts): {
  manager: ImageManager;
  pullSecrets: Pick<PullCredentials, "reportMissing">;
  pulls: PullTracker;
  components: Component[];
} {
  const { config, gates, rootDir, images, clock, logger, events, metrics } = parts;
  const credentials = new PullCredentials({
    secret: async (namespace, name, signal) => parts.objects?.find("Secret", namespace, name, signal),
    node: new NodeDockerConfig({ rootDir, workingDir: process.cwd(), homeDir: homedir(), clock, logger }),
    events,
    ...(parts.providers && {
      providers: new CredentialProviders({
        loaded: parts.providers,
        clock,
        logger,
        metrics,
        ...(parts.tokens && { tokens: parts.tokens }),
      }),
    }),
  });
  const unlimited = Number.POSITIVE_INFINITY;
  const parallelPulls = config.serializeImagePulls ? 1 : config.maxParallelImagePulls || unlimited;
  const records = gates.enabled("KubeletEnsureSecretPulledImages")
    ? pullRecords(parts, parallelPulls)
    : undefined;
  const pulls = new PullTracker({
    ...parts.pulls,
    clock,
    logger,
    metrics,
    receivedBytes: readReceivedBytes,
    events: parts.pullEvents ? events : undefined,
  });
  const manager = new ImageManager({
    images,
    clock,
    parallelPulls,
    pullsPerSecond: config.registryPullQPS ?? 5,
    pullBurst: config.registryBurst,
    events,
    credentials,
    ...(records && { records }),
    handlers: gates.enabled("RuntimeClassInImageCriApi") ? parts.handlers : undefined,
    prefetch: parts.prefetch,
    progress: pulls,
    pressure: parts.pressure,
    metrics,
  });
  return { manager, pullSecrets: credentials, pulls, components: [...(records ? [records] : []), manager] };
}

function pullRecords(parts: ImageParts, parallelPulls: number): PullRecords {
  const { config, rootDir, images, clock, logger, metrics } = parts;
  const policy = config.imagePullCredentialsVerificationPolicy || "NeverVerifyPreloadedImages";
  return new PullRecords({
    rootDir,
    policy: verificationPolicy(policy, config.preloadedImagesVerificationAllowlist ?? []),
    images,
    clock,
    logger,
    metrics,
    expected: {
      intents: Math.min(1024, Math.max(2 * config.maxPods, 2 * parallelPulls)),
      pulled: Math.min(2000, 5 * config.maxPods),
    },
  });
}
