import { formatQuantity } from "../../lib/model/quantity-form.ts";

export function isHugepages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** An extended resource: "vendor.example/device". */
export function isExtended(name: string): boolean {
  const native = !name.includes("/") || name.includes("kubernetes.io/");
  return !native && !name.startsWith("requests.");
}

export function binaryBytes(bytes: bigint): string {
  return formatQuantity(bytes * 1_000_000_000n, "binary");
}
