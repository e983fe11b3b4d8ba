import type { Resource } from "./signals.ts";

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** For explanations: "312.4Mi" of memory or storage, "1200" of inodes or process IDs. */
export function amountText(resource: Resource, amount: number): string {
  if (resource === "inodes" || resource === "pids") return String(amount);
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(amount))) / 10));
  return power === 0 ? String(amount) : `${Number((amount / 1024 ** power).toFixed(1))}${units[power]}`;
}
