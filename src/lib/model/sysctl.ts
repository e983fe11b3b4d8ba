/** The kernel namespace that a sysctl belongs to, by its name in messages. */
export type SysctlNamespace = "IPC" | "Net";

const namespaces: readonly [prefix: string, namespace: SysctlNamespace][] = [
  ["kernel.shm", "IPC"],
  ["kernel.msg", "IPC"],
  ["fs.mqueue.", "IPC"],
  ["net.", "Net"],
];

/**
 * The name with dots between its parts. In sysctl.d, "/" is the alternative separator. The first separator in a name decides
 * which one the name uses. The other character may then be part of a name: "net/ipv4/conf/eth0.1/x".
 */
export function normalizeSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== "/") return name;
  return name.replace(/[./]/g, (c) => (c === "/" ? "." : "/"));
}

/** Undefined if the sysctl is not known to be namespaced. `name` may be a prefix. */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  if (name === "kernel.sem") return "IPC";
  return namespaces.find(([prefix]) => name.startsWith(prefix))?.[1];
}
