import { KubeletError } from "../../../lib/base/errors.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { normalizeSysctl, type SysctlNamespace, sysctlNamespace } from "../../../lib/model/sysctl.ts";

/** Namespaced sysctls that do not affect other pods, with the kernel version since which they are safe. */
const safe: readonly [name: string, since: readonly [number, number]][] = [
  ["kernel.shm_rmid_forced", [0, 0]],
  ["net.ipv4.ip_local_port_range", [0, 0]],
  ["net.ipv4.tcp_syncookies", [0, 0]],
  ["net.ipv4.ping_group_range", [0, 0]],
  ["net.ipv4.ip_unprivileged_port_start", [0, 0]],
  ["net.ipv4.ip_local_reserved_ports", [3, 16]],
  ["net.ipv4.tcp_keepalive_time", [4, 5]],
  ["net.ipv4.tcp_fin_timeout", [4, 6]],
  ["net.ipv4.tcp_keepalive_intvl", [4, 5]],
  ["net.ipv4.tcp_keepalive_probes", [4, 5]],
  ["net.ipv4.tcp_rmem", [4, 15]],
  ["net.ipv4.tcp_wmem", [4, 15]],
];

/** The sysctls that every pod may set on a kernel of this release ("6.1.0-13-amd64"). */
export function safeSysctls(kernelRelease: string): string[] {
  const [, major = 0, minor = 0] = (/^(\d+)\.(\d+)/.exec(kernelRelease) ?? []).map(Number);
  return safe
    .filter(
      ([, [needsMajor, needsMinor]]) => major > needsMajor || (major === needsMajor && minor >= needsMinor),
    )
    .map(([name]) => name);
}

export interface SysctlAllowlist {
  readonly names: ReadonlyMap<string, SysctlNamespace>;
  readonly prefixes: ReadonlyMap<string, SysctlNamespace>;
}

const part = "[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?";
const patternSyntax = new RegExp(`^(?:${part}[./])*(?:${part}|[a-z0-9][-_a-z0-9]*\\*|\\*)$`);

/** From names and patterns that end with "*". Throws if a name is not a sysctl or not namespaced. */
export function sysctlAllowlist(patterns: Iterable<string>): SysctlAllowlist {
  const names = new Map<string, SysctlNamespace>();
  const prefixes = new Map<string, SysctlNamespace>();
  for (const pattern of patterns) {
    if (pattern.length > 253 || !patternSyntax.test(pattern))
      throw new KubeletError(
        "Sysctl",
        `allowedUnsafeSysctls: "${pattern}" is not a sysctl or a pattern of sysctls`,
      );
    const isPrefix = pattern.endsWith("*");
    const name = normalizeSysctl(pattern).replace(/\*$/, "");
    const namespace = sysctlNamespace(name);
    if (!namespace) throw new KubeletError("Sysctl", `the sysctls "${name}" are not known to be namespaced`);
    (isPrefix ? prefixes : names).set(name, namespace);
  }
  return { names, prefixes };
}

/** Why the pod may not set one of its sysctls; undefined if it may set all of them. */
export function forbiddenSysctl(pod: Pod, allowed: SysctlAllowlist): string | undefined {
  const { securityContext, hostNetwork, hostIPC } = pod.spec;
  for (const sysctl of securityContext?.sysctls ?? []) {
    const name = normalizeSysctl(sysctl.name);
    const namespace =
      allowed.names.get(name) ?? [...allowed.prefixes].find(([prefix]) => name.startsWith(prefix))?.[1];
    if (!namespace) return `forbidden sysctl: "${name}" not allowlisted`;
    // Setting it there would set it for the whole node.
    if ((namespace === "IPC" && hostIPC) || (namespace === "Net" && hostNetwork))
      return `forbidden sysctl: "${name}" not allowed with host ${namespace} enabled`;
  }
  return undefined;
}
