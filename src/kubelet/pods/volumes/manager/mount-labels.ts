import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Metrics } from "../../../../lib/base/metrics.ts";
import type { FeatureGates } from "../../../../lib/config/feature-gates.ts";
import type { SELinuxOptions } from "../../../../lib/gen/kubernetes/core.d.ts";
import type { ContainerLabels } from "../../../../lib/host/container-labels.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import { fileLabelOf } from "../tools/selinux-labels.ts";
import type { VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { driverOf } from "./volume-metrics.ts";

/** The SELinux label of a volume, which all pods on the node share. */
export interface MountLabel {
  /** The label with which it is mounted. If empty, it is mounted without, and the runtime sets the labels of the files. */
  readonly mount: string;
  /** The label with which it would be mounted if that was done for all access modes. */
  readonly expected: string;
}

export interface MountLabelsOptions {
  readonly defaults: ContainerLabels;
  /** The gate SELinuxMount. Without it only volumes with the access mode ReadWriteOncePod are mounted with a label. */
  readonly allAccessModes: boolean;
}

/** Undefined on a node without SELinux. */
export function mountLabelsOptions(o: {
  readonly selinux: boolean;
  readonly defaults: ContainerLabels;
  readonly gates: Pick<FeatureGates, "enabled">;
}): MountLabelsOptions | undefined {
  return o.selinux ? { defaults: o.defaults, allAccessModes: o.gates.enabled("SELinuxMount") } : undefined;
}

export interface LabelRequest {
  readonly pod: Pod;
  /** The name that containers use. */
  readonly name: string;
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
  /** The plugin and its driver can mount it with a label. */
  readonly supported: boolean;
  /** The label of the volume, if another pod needs the volume, too. */
  readonly others: MountLabel | undefined;
}

/** Decides with which SELinux label volumes are mounted, on a node with SELinux. */
export class MountLabels {
  readonly #o: MountLabelsOptions;
  readonly #metrics: LabelMetrics;

  constructor(options: MountLabelsOptions, metrics: LabelMetrics) {
    this.#o = options;
    this.#metrics = metrics;
  }

  /** Throws if the pod cannot use the volume: its containers, or other pods, need another label. */
  labelFor({ pod, name, spec, plugin, supported, others }: LabelRequest): MountLabel {
    const access_mode = accessModeOf(spec);
    const volume_plugin = pluginNameOf(plugin, spec);
    const applies = this.#appliesTo(spec);
    const metrics = this.#metrics;
    const conflict = (kind: "container" | "podContext", error: Error): string => {
      metrics[kind][applies ? "errors" : "warnings"].inc({ access_mode });
      if (applies) throw error;
      return "";
    };
    const labels = new Set<string>();
    let expected = "";
    try {
      for (const options of optionsOf(pod, name)) labels.add(fileLabelOf(options, this.#o.defaults));
      const isRecursive = pod.spec.securityContext?.seLinuxChangePolicy === "Recursive";
      const isOne = labels.size === 1 && supported && !isRecursive;
      expected = isOne ? [...labels][0]! : "";
    } catch (error) {
      const text = `failed to construct SELinux label: ${messageOf(error)}`;
      conflict("container", new KubeletError("SELinux", text, { cause: error }));
    }
    const isAmbiguous = labels.size > 1;
    if (isAmbiguous)
      conflict(
        "podContext",
        new KubeletError("SELinux", `multiple SELinux labels found: ${[...labels].join(",")}`),
      );
    if (!others) {
      if (expected !== "") metrics.admitted.inc({ volume_plugin, access_mode });
      return { mount: applies ? expected : "", expected };
    }
    if (supported && !isAmbiguous && others.expected !== expected) {
      metrics.volumeContext[applies ? "errors" : "warnings"].inc({ volume_plugin, access_mode });
      const quoted = [others.expected, expected].map((label) => JSON.stringify(label)).join(" and ");
      if (applies)
        throw new KubeletError("SELinux", `conflicting SELinux labels of volume ${spec.name}: ${quoted}`);
    }
    return others;
  }

  #appliesTo({ persistent }: VolumeSpec): boolean {
    if (!persistent) return false;
    const modes: readonly string[] = persistent.spec.accessModes ?? [];
    return this.#o.allAccessModes || (modes.length === 1 && modes[0] === "ReadWriteOncePod");
  }
}

/** The effective SELinux options of the containers that mount the volume, except those without any. */
function optionsOf(pod: Pod, name: string): SELinuxOptions[] {
  const { containers, initContainers = [], ephemeralContainers = [], securityContext } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers]
    .filter((container) => container.volumeMounts?.some((mount) => mount.name === name))
    .flatMap(
      (container) => container.securityContext?.seLinuxOptions ?? securityContext?.seLinuxOptions ?? [],
    );
}

function pluginNameOf(plugin: VolumePlugin, spec: VolumeSpec): string {
  const driver = plugin.name === "kubernetes.io/csi" ? driverOf(spec) : undefined;
  return driver === undefined ? plugin.name : `${plugin.name}/${driver}`;
}

const shortModes = {
  ReadWriteMany: "RWX",
  ReadOnlyMany: "ROX",
  ReadWriteOnce: "RWO",
  ReadWriteOncePod: "RWOP",
};

/** The access mode that allows the most nodes. */
function accessModeOf({ persistent }: VolumeSpec): string {
  if (!persistent) return "inline";
  const modes: readonly string[] = persistent.spec.accessModes ?? [];
  return Object.entries(shortModes).find(([mode]) => modes.includes(mode))?.[1] ?? "";
}

export type LabelMetrics = ReturnType<typeof labelMetrics>;

/** As in the reference, these metrics are gauges in spite of their names. On a node without SELinux they have no samples. */
export function labelMetrics(metrics: Metrics) {
  const ignored = "They become errors if volumes of all access modes are mounted with a label.";
  const gauge = <L extends string>(name: string, help: string, labels: readonly L[]) =>
    metrics.gauge({ name, help, labels });
  const perMode = ["access_mode"] as const;
  const perPlugin = ["volume_plugin", "access_mode"] as const;
  const container = "Number of times that the SELinux label of a container could not be determined.";
  const podContext = "Number of times that containers of one pod use a volume with different SELinux labels.";
  const volumeContext =
    "Number of times that a pod uses a volume with another SELinux label than the pods that use it already.";
  return {
    container: {
      errors: gauge("volume_manager_selinux_container_errors_total", container, perMode),
      warnings: gauge("volume_manager_selinux_container_warnings_total", `${container} ${ignored}`, perMode),
    },
    podContext: {
      errors: gauge("volume_manager_selinux_pod_context_mismatch_errors_total", podContext, perMode),
      warnings: gauge(
        "volume_manager_selinux_pod_context_mismatch_warnings_total",
        `${podContext} ${ignored}`,
        perMode,
      ),
    },
    volumeContext: {
      errors: gauge("volume_manager_selinux_volume_context_mismatch_errors_total", volumeContext, perPlugin),
      warnings: gauge(
        "volume_manager_selinux_volume_context_mismatch_warnings_total",
        `${volumeContext} ${ignored}`,
        perPlugin,
      ),
    },
    admitted: gauge(
      "volume_manager_selinux_volumes_admitted_total",
      "Number of volumes with an SELinux label. They are mounted with it if their access mode allows it.",
      perPlugin,
    ),
  };
}
