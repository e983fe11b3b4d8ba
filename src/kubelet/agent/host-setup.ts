import { writeFile } from "node:fs/promises";
import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { systemIptables } from "../../lib/host/iptables.ts";
import { hasLoopbackServersOnly } from "../../lib/host/resolver-file.ts";
import { isSwapOn } from "../../lib/host/swap.ts";
import { sysctls } from "../../lib/host/sysctls.ts";
import { systemCommands } from "../../lib/host/system-commands.ts";
import { supportsTmpfsNoswap } from "../../lib/host/tmpfs-noswap.ts";
import { isInUserNamespace } from "../../lib/host/user-namespace.ts";
import type { NodeEvents } from "../../lib/model/pod-events.ts";
import { HostSetup } from "../resources/host-setup/host-setup.ts";
import { IptablesChains } from "../resources/host-setup/iptables-chains.ts";
import type { AgentOptions } from "./agent-options.ts";

/** Empty for an agent that shares its machine with others: it changes nothing outside of its own directories and cgroups. */
export function hostSetup(options: AgentOptions, events: Pick<NodeEvents, "warning">): Component[] {
  const { config, clock, logger, host, gates, rootDir } = options;
  if (!host) return [];
  return [
    new HostSetup({
      failSwapOn: config.failSwapOn,
      isSwapOn: () => isSwapOn(host.swapsFile),
      supportsNoswap: async () =>
        supportsTmpfsNoswap({ dir: rootDir, inUserNamespace: await isInUserNamespace() }),
      events,
      tunables: config.protectKernelDefaults ? "fail" : host.keepsKernelTunables ? "warn" : "modify",
      sysctls: sysctls(),
      userNamespace: async () => {
        if (!(await isInUserNamespace())) return "not in one";
        return gates.enabled("KubeletInUserNamespace") ? "on" : "off";
      },
      oomScoreAdj: config.oomScoreAdj,
      setOomScoreAdj: (value) => writeFile("/proc/self/oom_score_adj", String(value)),
      unreachableResolvConf: async () => {
        const path = config.resolvConf ?? "";
        // A file that cannot be read fails each pod that needs it.
        const isUnreachable = path !== "" && (await hasLoopbackServersOnly(path).catch(() => false));
        return isUnreachable ? path : undefined;
      },
      clock,
      logger,
    }),
    ...(config.makeIPTablesUtilChains ? [iptablesChains(clock, logger)] : []),
  ];
}

function iptablesChains(clock: Clock, logger: Logger): Component {
  const commands = systemCommands(clock);
  const iptables = (["IPv4", "IPv6"] as const).map((family) => systemIptables(family, commands));
  return new IptablesChains({ iptables, clock, logger });
}
