/** The kernel namespace that a sysctl belongs to, by the name that messages give it. */
export type SysctlNamespace = "IPC" | "Net";

const namespaces: readonly [prefix: string, namespace: SysctlNamespace][] = [
  ["kernel.shm", "IPC"],
  ["kernel.msg", "IPC"],
  ["fs.mqueue.", "IPC"],
  ["net.", "Net"],
];

/**
 * The name with dots between its parts. "/" between the parts is the other spelling that sysctl.d knows; which one a
 * name uses shows at its first separator, and the other character is then part of a name: "net/ipv4/conf/eth0.1/x".
 */
export function normalizeSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== "/") return name;
  return name.replace(/[./]/g, (c) => (c === "/" ? "." : "/"));
}

/** Undefined if the kernel has no such sysctl for each pod, as far as is known. `name` may be the begin of a name. */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  if (name === "kernel.sem") return "IPC";
  return namespaces.find(([prefix]) => name.startsWith(prefix))?.[1];
}
