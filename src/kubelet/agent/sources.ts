import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { FileSource } from "../pipeline/sources/file-source.ts";
import { HttpSource } from "../pipeline/sources/http-source.ts";
import type { PodSource } from "../pipeline/sources/source.ts";

/** The pod sources that the configuration names. */
export function configuredSources(
  config: KubeletConfiguration,
  nodeName: string,
  clock: Clock,
  logger: Logger,
  hasLocalObjects = false,
): PodSource[] {
  const sources: PodSource[] = [];
  if (config.staticPodPath)
    sources.push(
      new FileSource({
        path: config.staticPodPath,
        rescanMs: config.fileCheckFrequency,
        nodeName,
        clock,
        logger,
        hasLocalObjects,
      }),
    );
  if (config.staticPodURL)
    sources.push(
      new HttpSource({
        url: config.staticPodURL,
        headers: config.staticPodURLHeader,
        pollMs: config.httpCheckFrequency,
        nodeName,
        clock,
        logger,
        hasLocalObjects,
      }),
    );
  return sources;
}
