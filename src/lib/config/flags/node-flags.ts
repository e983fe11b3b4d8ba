import { type FlagGroup, field, own } from "./spec.ts";

/** Flags about the node. */
export const nodeFlags: readonly FlagGroup[] = [
  {
    title: "Node",
    flags: [
      own("hostname-override", "string", "hostnameOverride", "name of the node, instead of the host name"),
      own("node-ip", "string", "nodeIP", "address of the node, or one of each family"),
      own("node-labels", "labels", "nodeLabels", "labels to register with, key=value,…"),
      own("cloud-provider", "string", "cloudProvider", "empty, or external"),
      field("provider-id", "string", "providerID", "name of this machine at its provider"),
      field("register-node", "bool", "registerNode", "register with the API server"),
      field(
        "register-with-taints",
        "taints",
        "registerWithTaints",
        "taints to register with, key=value:effect,…",
      ),
      field(
        "node-status-update-frequency",
        "duration",
        "nodeStatusUpdateFrequency",
        "time between two node status checks",
      ),
      field(
        "node-status-max-images",
        "int32",
        "nodeStatusMaxImages",
        "images to list in the node status, -1 for all",
      ),
      field("max-pods", "int32", "maxPods", "most pods on this node"),
      field("pods-per-core", "int32", "podsPerCore", "most pods for each core, 0 for no such limit"),
      field("pod-cidr", "string", "podCIDR", "addresses for pods when the node stands alone"),
      field("cluster-dns", "strings", "clusterDNS", "name servers for pods"),
      field("cluster-domain", "string", "clusterDomain", "DNS domain of the cluster"),
      field("resolv-conf", "string", "resolvConf", "resolver file that pods start from"),
      field("hairpin-mode", "string", "hairpinMode", "promiscuous-bridge, hairpin-veth or none"),
      field(
        "make-iptables-util-chains",
        "bool",
        "makeIPTablesUtilChains",
        "keep the shared iptables chains in place",
      ),
      field("fail-swap-on", "bool", "failSwapOn", "refuse to start while swap is on"),
      field(
        "protect-kernel-defaults",
        "bool",
        "protectKernelDefaults",
        "refuse kernel settings other than wanted",
      ),
      field("max-open-files", "int64", "maxOpenFiles", "files that the kubelet may have open"),
      field("oom-score-adj", "int32", "oomScoreAdj", "oom_score_adj of the kubelet"),
    ],
  },
];
