import { homedir } from "node:os";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Metrics } from "../base/metrics.ts";
import type { ImageService } from "../clients/cri/cri.ts";
import type { KubeletConfiguration } from "../config/kubelet-configuration.ts";
import type { Pod } from "../model/pod.ts";
import type { PodEvents } from "../model/pod-events.ts";
import { ImageManager } from "../pods/images/image-manager.ts";
import { NodeDockerConfig } from "../pods/images/node-docker-config.ts";
import { PullCredentials, type PullSecret } from "../pods/images/pull-credentials.ts";

export interface ImageParts {
  config: KubeletConfiguration;
  gates: { enabled(name: string): boolean };
  rootDir: string;
  images: Pick<ImageService, "imageStatus" | "pullImage">;
  /** Pull secrets of pods; without it there are none. */
  secret?: (namespace: string, name: string) => Promise<PullSecret | undefined>;
  runtimeHandler: (pod: Pod) => string;
  events: PodEvents;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/** The image manager, as the configuration wants it. */
export function imageManager(parts: ImageParts): ImageManager {
  const { config, gates, rootDir, images, clock, logger, events, metrics } = parts;
  const credentials = new PullCredentials({
    secret: parts.secret ?? (async () => undefined),
    node: new NodeDockerConfig({ rootDir, workingDir: process.cwd(), homeDir: homedir(), clock, logger }),
    events,
  });
  const unlimited = Number.POSITIVE_INFINITY;
  return new ImageManager({
    images,
    clock,
    parallelPulls: config.serializeImagePulls ? 1 : config.maxParallelImagePulls || unlimited,
    pullsPerSecond: config.registryPullQPS ?? 5,
    pullBurst: config.registryBurst,
    events,
    credentials: (pod, image) => credentials.credentials(pod, image),
    runtimeHandler: gates.enabled("RuntimeClassInImageCriApi") ? parts.runtimeHandler : undefined,
    metrics,
  });
}
