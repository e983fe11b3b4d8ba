import type { Family, Labels } from "./exposition.ts";

export interface BuildInfo {
  /** "v1.36.4" */
  readonly gitVersion: string;
  readonly gitCommit?: string;
  readonly buildDate?: string;
  /** "linux/amd64" */
  readonly platform: string;
}

export interface FeatureGate {
  readonly name: string;
  /** "ALPHA", "BETA", "DEPRECATED", or "" for GA. */
  readonly stage: string;
  readonly enabled: boolean;
}

export interface AgentInfo {
  readonly nodeName: string;
  readonly cgroupVersion: 1 | 2;
  readonly build: BuildInfo;
  readonly features: readonly FeatureGate[];
}

/** Information about this agent: constant values. */
export function infoFamilies({ nodeName, cgroupVersion, build, features }: AgentInfo): Family[] {
  const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(build.gitVersion) ?? [];
  const fromRuntime = features.some(({ name, enabled }) => name === "PodAndContainerStatsFromCRI" && enabled);
  return [
    one("kubelet_node_name", "The node's name. The count is always 1.", { node: nodeName }),
    one(
      "kubelet_metrics_provider",
      "Metrics provider used by kubelet to collect container stats. Values can be 'cadvisor' and 'cri'",
      {
        provider: fromRuntime ? "cri" : "cadvisor",
      },
    ),
    one("kubelet_cgroup_version", "cgroup version on the hosts.", {}, cgroupVersion),
    one("kubernetes_build_info", "Build version, commit, date and platform; the value is always 1", {
      major,
      minor,
      git_version: build.gitVersion,
      git_commit: build.gitCommit ?? "",
      git_tree_state: "",
      build_date: build.buildDate ?? "",
      // The label name that dashboards use.
      go_version: `node${process.version}`,
      compiler: "node",
      platform: build.platform,
    }),
    {
      name: "kubernetes_feature_enabled",
      help: "Whether a feature gate is enabled: 1 if it is, 0 if not",
      type: "gauge",
      samples: features.map(({ name, stage, enabled }) => ({
        labels: { name, stage },
        value: enabled ? 1 : 0,
      })),
    },
  ];
}

function one(name: string, help: string, labels: Labels, value = 1): Family {
  return { name, help, type: "gauge", samples: [{ labels, value }] };
}
