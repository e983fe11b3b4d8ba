import { formatBytes, formatCpu } from "./format.ts";

/** How amounts of a resource are shown. */
export function resourceFormat(name: string): (amount: number | null) => string {
  const format = name === "cpu" ? formatCpu : isBytes(name) ? formatBytes : String;
  return (amount) => (amount === null ? "–" : format(amount));
}

const isBytes = (name: string): boolean => /^(?:memory|ephemeral-storage|hugepages-.*)$/.test(name);
