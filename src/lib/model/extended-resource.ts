import { qualifiedName } from "../base/name-rules.ts";

/** True for a resource with the domain of a vendor, such as vendor.example/device: device plugins may register it. */
export function isExtendedResourceName(name: string): boolean {
  if (!name.includes("/") || name.includes("kubernetes.io/") || name.startsWith("requests.")) return false;
  // Quotas use it with this prefix.
  return qualifiedName(`requests.${name}`).length === 0;
}
