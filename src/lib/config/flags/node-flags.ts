import { type FlagGroup, field, flagOnly } from "./spec.ts";

/** Flags about the node. */
export const nodeFlags: readonly FlagGroup[] = [
  {
    title: "Node",
    flags: [
      flagOnly("hostname-override", "string", "hostnameOverride", "node name, instead of the host name"),
      flagOnly("node-ip", "string", "nodeIP", "IP address of the node, or one of each IP family"),
      flagOnly("node-labels", "labels", "nodeLabels", "labels to register the node with, key=value,…"),
      flagOnly("cloud-provider", "string", "cloudProvider", "cloud provider: empty or external"),
      field("provider-id", "string", "providerID", "unique ID of the instance at its cloud provider"),
      field("register-node", "bool", "registerNode", "register the node with the API server"),
      field(
        "register-with-taints",
        "taints",
        "registerWithTaints",
        "taints to register the node with, key=value:effect,…",
      ),
      field(
        "node-status-update-frequency",
        "duration",
        "nodeStatusUpdateFrequency",
        "interval of node status updates",
      ),
      field(
        "node-status-max-images",
        "int32",
        "nodeStatusMaxImages",
        "maximum number of images in node status, -1 for all",
      ),
      field("max-pods", "int32", "maxPods", "maximum number of pods on this node"),
      field("pods-per-core", "int32", "podsPerCore", "maximum number of pods per core, 0 for no limit"),
      field("pod-cidr", "string", "podCIDR", "CIDR of pod IPs in standalone mode"),
      field("cluster-dns", "strings", "clusterDNS", "IP addresses of DNS servers for pods"),
      field(
        "cluster-domain",
        "string",
        "clusterDomain",
        "DNS domain of the cluster, added to the search path of pods",
      ),
      field("resolv-conf", "string", "resolvConf", "resolver configuration file that pod DNS is based on"),
      field(
        "hairpin-mode",
        "string",
        "hairpinMode",
        "hairpin mode: promiscuous-bridge, hairpin-veth or none",
      ),
      field(
        "make-iptables-util-chains",
        "bool",
        "makeIPTablesUtilChains",
        "ensure that iptables utility chains exist",
      ),
      field("fail-swap-on", "bool", "failSwapOn", "refuse to start if swap is enabled"),
      field(
        "protect-kernel-defaults",
        "bool",
        "protectKernelDefaults",
        "fail if kernel settings differ from the kubelet's defaults",
      ),
      flagOnly(
        "keep-kernel-tunables",
        "bool",
        "keepKernelTunables",
        "report kernel settings that differ instead of changing them (kubelet-ts only)",
      ),
      field("max-open-files", "int64", "maxOpenFiles", "maximum number of open files of the kubelet"),
      field("oom-score-adj", "int32", "oomScoreAdj", "oom_score_adj of the kubelet"),
    ],
  },
];
