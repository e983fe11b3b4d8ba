import type { Clock } from "../../../../lib/base/clock.ts";
import type { Component } from "../../../../lib/base/component.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { Metrics } from "../../../../lib/base/metrics.ts";
import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";
import type { VolumeExpander } from "../persistent/volume-expander.ts";
import type { VolumePlugin } from "../volume-plugin.ts";
import { AllocatableUpdates } from "./allocatable-updates.ts";
import { Attachments } from "./attachments.ts";
import type { CsiDeps } from "./csi-deps.ts";
import { CsiDriverObjects } from "./csi-drivers.ts";
import { createCsiMetrics } from "./csi-metrics.ts";
import { CsiNode } from "./csi-node.ts";
import { csiPlugin } from "./csi-plugin.ts";
import { DriverStore } from "./driver-store.ts";
import { kubeSecrets } from "./kube-secrets.ts";
import { CsiRegistration } from "./registration.ts";

export interface CsiVolumesOptions
  extends Pick<
    CsiDeps,
    "rootDir" | "nodeName" | "tokens" | "mounts" | "checkMount" | "ownership" | "volumeHealth" | "logger"
  > {
  readonly transport: Pick<KubeTransport, "request" | "stream" | "onReconnect">;
  readonly expander: VolumeExpander;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** A driver was registered or deregistered: volumes that wait for it can be retried immediately. */
  readonly onDriver?: (driver: string) => void;
  /** The node has its CSINode object. */
  readonly onReady?: () => void;
}

/** The CSI parts of a node in a cluster. */
export interface CsiVolumes {
  readonly plugin: VolumePlugin;
  /** The handler of plugins of type CSIPlugin. */
  readonly registration: CsiRegistration;
  /** The node is not ready before this is healthy. */
  readonly node: CsiNode;
  /** Must be started in this order. */
  readonly components: readonly Component[];
}

export function csiVolumes(options: CsiVolumesOptions): CsiVolumes {
  const { transport, nodeName, clock, logger, metrics, onDriver, onReady } = options;
  const drivers = new DriverStore();
  const objects = new CsiDriverObjects({ transport, clock, logger });
  const node = new CsiNode({ transport, nodeName, clock, logger, ...(onReady && { onReady }) });
  const updates = new AllocatableUpdates({ drivers, objects, node, clock, logger });
  let signal = AbortSignal.abort();
  const attachments = new Attachments({
    transport,
    nodeName,
    objects,
    clock,
    onExhausted: (driver) => void updates.refresh(driver, signal),
  });
  const registration = new CsiRegistration({
    drivers,
    node,
    clock,
    logger,
    metrics: createCsiMetrics(metrics),
    onChange: (driver) => {
      updates.changed(driver);
      onDriver?.(driver);
    },
  });
  const secrets = kubeSecrets(transport);
  const plugin = csiPlugin({ ...options, drivers, objects, attachments, secrets });
  const counts: Component = {
    name: "csi-volume-counts",
    start: async (componentSignal) => {
      signal = componentSignal;
      updates.start(componentSignal);
    },
    done: Promise.resolve(),
  };
  return { plugin, registration, node, components: [objects, node, counts] };
}
