import type { Container, PodSpec } from "../pod.ts";
import { parseQuantity } from "../quantity.ts";
import { formatQuantity } from "../quantity-form.ts";

type ResourceList = Record<string, string>;
type Amounts = Map<string, bigint>;

/** The resources that can be set at pod level. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || isHugePages(name);
}

export function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** Native resources that may be overcommitted; huge pages may not. */
export function mayOvercommit(name: string): boolean {
  return (!name.includes("/") || name.includes("kubernetes.io/")) && !isHugePages(name);
}

/**
 * The aggregate of the containers: all regular ones and sidecars run concurrently, and each init container
 * runs alongside the sidecars that were started before it.
 */
export function containerTotals(spec: PodSpec, which: "limits" | "requests"): Amounts {
  const running: Amounts = new Map();
  for (const container of spec.containers) add(running, amounts(container, which));
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = amounts(container, which);
    if (container.restartPolicy === "Always") {
      add(running, own);
      add(sidecars, own);
      atLeast(starting, sidecars);
    } else {
      const together = new Map(own);
      add(together, sidecars);
      atLeast(starting, together);
    }
  }
  atLeast(running, starting);
  return running;
}

/** Completes the pod-level resources, where any are specified. */
export function defaultPodResources(spec: PodSpec): void {
  const resources = spec.resources as { limits?: ResourceList; requests?: ResourceList } | undefined;
  if (!resources) return;
  if (filled(resources.limits) || filled(resources.requests)) {
    const limits = { ...resources.limits };
    for (const [name, amount] of containerTotals(spec, "limits"))
      if (isHugePages(name) && !(name in (resources.requests ?? {}))) limits[name] ??= write(name, amount);
    if (filled(limits)) resources.limits = limits;
  }
  if (!filled(resources.limits)) return;
  const requests = { ...resources.requests };
  for (const [name, amount] of containerTotals(spec, "requests"))
    if (isPodLevelResource(name) && mayOvercommit(name)) requests[name] ??= write(name, amount);
  for (const [name, amount] of Object.entries(resources.limits ?? {}))
    if (isPodLevelResource(name)) requests[name] ??= amount;
  if (filled(requests)) resources.requests = requests;
}

function amounts(container: Container, which: "limits" | "requests"): Amounts {
  const list: ResourceList = container.resources?.[which] ?? {};
  return new Map(Object.entries(list).map(([name, text]) => [name, parseQuantity(text) ?? 0n]));
}

function add(into: Amounts, more: Amounts): void {
  for (const [name, amount] of more) into.set(name, (into.get(name) ?? 0n) + amount);
}

function atLeast(into: Amounts, floor: Amounts): void {
  for (const [name, amount] of floor) if ((into.get(name) ?? 0n) < amount) into.set(name, amount);
}

function write(name: string, amount: bigint): string {
  return formatQuantity(amount, name === "cpu" ? "decimal" : "binary");
}

function filled(list: ResourceList | undefined): boolean {
  return list !== undefined && Object.keys(list).length > 0;
}
