import { type Clock, systemClock } from "../lib/base/clock.ts";
import type { Logger } from "../lib/base/logger.ts";
import { type CleanupOptions, type CleanupReport, cleanUpNode } from "./cleanup.ts";
import { recordSharedChains } from "./network-cleanup.ts";
import { createDirectories, type NodeFiles, nodeFiles } from "./node-files.ts";
import { lockNode } from "./node-lock.ts";
import { busyboxImage, demoImageName, type OciImage, pauseImage, pauseImageName } from "./oci-image.ts";
import { createNetwork } from "./pod-network.ts";
import { PrivateContainerd } from "./private-containerd.ts";
import type { Binaries } from "./requirements.ts";

export interface LocalNodeOptions {
  readonly name: string;
  readonly binaries: Binaries;
  readonly logger: Logger;
  readonly baseDir?: string;
  readonly runDir?: string;
  /** Additional names for the demo image. */
  readonly demoNames?: readonly string[];
  readonly moreImages?: readonly OciImage[];
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/** A private runtime with images and a pod network, on which an agent can run pods. */
export interface LocalNode {
  readonly name: string;
  /** For --container-runtime-endpoint. */
  readonly endpoint: string;
  readonly images: { readonly pause: string; readonly demo: string };
  readonly files: NodeFiles;
  readonly cgroupRoot: string;
  readonly podSubnet: string;
  /** Its first address is on the node's bridge: pods can reach an API that listens there. */
  readonly serviceRange: string;
  readonly containerd: PrivateContainerd;
  /** Stops containerd and all containers and removes everything in the kernel; files according to `keep`. */
  stop(options?: Pick<CleanupOptions, "keep">): Promise<CleanupReport>;
}

export async function startLocalNode(options: LocalNodeOptions): Promise<LocalNode> {
  const { logger, binaries, signal, clock = systemClock } = options;
  const files = nodeFiles(options.name, options.baseDir, options.runDir);
  const lock = await lockNode(files);
  const containerd = new PrivateContainerd({ files, binaries, pauseImage: pauseImageName, logger, clock });
  let stopped: Promise<CleanupReport> | undefined;
  const stopOnce = async (how: Pick<CleanupOptions, "keep">) => {
    await containerd.stop();
    const report = await cleanUpNode(files, { ...how, clock });
    for (const what of report.remaining)
      logger.warn("Failed to remove part of the node", { node: files.name, what });
    lock.release();
    return report;
  };
  const stop = (how: Pick<CleanupOptions, "keep"> = { keep: "manifests and logs" }) => {
    stopped ??= stopOnce(how);
    return stopped;
  };
  try {
    await cleanUpNode(files, { keep: "manifests and logs", logger, clock }); // of a killed run
    createDirectories(files);
    const network = await createNetwork(files);
    await recordSharedChains(files);
    await containerd.start(signal);
    const demo = await busyboxImage({
      busybox: binaries.busybox,
      names: [demoImageName, ...(options.demoNames ?? [])],
    });
    const images = [pauseImage(), demo, ...(options.moreImages ?? [])];
    await Promise.all(images.map((image) => containerd.importImage(image, signal)));
    return {
      name: options.name,
      endpoint: containerd.endpoint,
      images: { pause: pauseImageName, demo: demoImageName },
      files,
      cgroupRoot: files.cgroupRoot,
      ...network,
      containerd,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
