import type { IpFamily, IptablesRule, IptablesTable } from "../../../lib/host/iptables.ts";

export type UtilityChainStep = { readonly table: IptablesTable; readonly failure: string } & (
  | { readonly chain: string }
  | { readonly rule: IptablesRule }
);

/** Its tables are checked from left to right: the first has few rules on most machines, so that it is cheap to list. */
export const canary = { chain: "KUBE-KUBELET-CANARY", tables: ["mangle", "nat", "filter"] } as const;

const firewall = "KUBE-FIREWALL";

/** The chains and rules that other components expect of a kubelet, in the order in which they are created. */
export function utilityChains(family: IpFamily): readonly UtilityChainStep[] {
  // Shows containers with a copy of each variant of iptables which one the host uses.
  const hint: UtilityChainStep = {
    table: "mangle",
    chain: "KUBE-IPTABLES-HINT",
    failure: "Failed to ensure that iptables hint chain exists",
  };
  return family === "IPv6" ? [hint] : [hint, ...loopbackProtection];
}

/**
 * kube-proxy allows packets to 127.0.0.0/8 on other interfaces, for node ports on localhost: without these rules the
 * hosts of the same network would reach services that listen on the loopback address only. IPv6 has no such setting.
 */
const loopbackProtection: readonly UtilityChainStep[] = [
  {
    table: "filter",
    chain: firewall,
    failure: "Failed to ensure that filter table KUBE-FIREWALL chain exists",
  },
  ...["OUTPUT", "INPUT"].map(
    (chain): UtilityChainStep => ({
      table: "filter",
      rule: { position: "first", chain, args: ["-j", firewall] },
      failure: `Failed to ensure that ${chain} chain jumps to KUBE-FIREWALL`,
    }),
  ),
  {
    table: "filter",
    rule: {
      position: "last",
      chain: firewall,
      args: [
        ...["-m", "comment", "--comment", "block incoming localnet connections"],
        ...["--dst", "127.0.0.0/8", "!", "--src", "127.0.0.0/8"],
        ...["-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"],
        ...["-j", "DROP"],
      ],
    },
    failure: "Failed to ensure rule to drop invalid localhost packets in filter table KUBE-FIREWALL chain",
  },
];
