import type { Container, Pod } from "./pod.ts";
import { parseQuantity } from "./quantity.ts";
import { formatQuantity } from "./quantity-form.ts";

/** Amounts of named resources ("cpu", "memory", "hugepages-2Mi") in nano units, as parseQuantity returns them. */
export type ResourceAmounts = ReadonlyMap<string, bigint>;

export interface PodResourceOptions {
  /** Omits the pod overhead of the runtime class. */
  excludeOverhead?: boolean;
  /** False if the PodLevelResources gate is off: spec.resources is then ignored. */
  podLevel?: boolean;
}

const milli = 1_000_000n;
const unit = 1_000_000_000n;
const podLevelNames = new Set(["cpu", "memory"]);
const hugepagesPrefix = "hugepages-";

export function amountsOf(list: Readonly<Record<string, string | number>> | undefined): Map<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const [name, text] of Object.entries(list ?? {})) {
    const value = parseQuantity(text);
    if (value === undefined) throw new RangeError(`${name}: "${text}" is not a quantity`);
    amounts.set(name, value);
  }
  return amounts;
}

/** Whole units (bytes, pages), rounded up; 0 if absent. */
export function wholeOf(amounts: ResourceAmounts, name: string): bigint {
  return ceilDivide(amounts.get(name) ?? 0n, unit);
}

/** Thousandths (millicores), rounded up; 0 if absent. */
export function milliOf(amounts: ResourceAmounts, name: string): bigint {
  return ceilDivide(amounts.get(name) ?? 0n, milli);
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return a > 0n ? (a + b - 1n) / b : a / b;
}

export function isSidecar(container: { restartPolicy?: string }): boolean {
  return container.restartPolicy === "Always";
}

/** True if spec.resources has any supported resource. */
export function hasPodLevelResources(pod: Pod): boolean {
  return hasPodLevel(pod.spec.resources?.requests) || hasPodLevel(pod.spec.resources?.limits);
}

export function hasPodLevelRequests(pod: Pod): boolean {
  return hasPodLevel(pod.spec.resources?.requests);
}

export function isPodLevelResource(name: string): boolean {
  return podLevelNames.has(name) || name.startsWith(hugepagesPrefix);
}

function hasPodLevel(list: object | undefined): boolean {
  return Object.keys(list ?? {}).some(isPodLevelResource);
}

/** The requests of the pod: the maximum over its lifecycle, plus overhead. */
export const podRequests = oncePerSpec(requestsOf);

/** The limits of the pod. Overhead is added only to resources that have a limit. */
export const podLimits = oncePerSpec(limitsOf);

/** A spec is never changed; one with other resources is another object. Every status and every admission needs the sums of a pod. */
function oncePerSpec(
  compute: (pod: Pod, options: PodResourceOptions) => ResourceAmounts,
): (pod: Pod, options?: PodResourceOptions) => ResourceAmounts {
  const known = new WeakMap<Pod["spec"], (ResourceAmounts | undefined)[]>();
  return (pod, options = {}) => {
    const results = known.get(pod.spec) ?? [];
    known.set(pod.spec, results);
    const index = (options.podLevel === false ? 1 : 0) + (options.excludeOverhead ? 2 : 0);
    const result = results[index] ?? compute(pod, options);
    results[index] = result;
    return result;
  };
}

function requestsOf(pod: Pod, options: PodResourceOptions): ResourceAmounts {
  const total = aggregate(pod, "requests").total;
  if (options.podLevel !== false && hasPodLevelRequests(pod)) override(total, pod.spec.resources?.requests);
  if (!options.excludeOverhead) add(total, amountsOf(pod.spec.overhead));
  return total;
}

function limitsOf(pod: Pod, options: PodResourceOptions): ResourceAmounts {
  const total = aggregate(pod, "limits").total;
  if (options.podLevel !== false && hasPodLevelResources(pod)) override(total, pod.spec.resources?.limits);
  if (!options.excludeOverhead) {
    for (const [name, amount] of amountsOf(pod.spec.overhead)) {
      const limit = total.get(name) ?? 0n;
      if (limit !== 0n) total.set(name, limit + amount);
    }
  }
  return total;
}

/** The sum over containers alone, by the same rules, without pod level and overhead. */
export function containerRequests(pod: Pod): Map<string, bigint> {
  return aggregate(pod, "requests").total;
}

/**
 * Limits at each step of the pod lifecycle: one for each container, and for each init container the limits that apply while it runs (its own
 * and the limits of the sidecars before it). A resource is limited only if no step lacks it.
 */
export function limitsByStep(pod: Pod): ResourceAmounts[] {
  return aggregate(pod, "limits").steps;
}

function aggregate(
  pod: Pod,
  kind: "requests" | "limits",
): { total: Map<string, bigint>; steps: ResourceAmounts[] } {
  const of = (container: Container) => amountsOf(container.resources?.[kind]);
  const total = new Map<string, bigint>();
  const steps: ResourceAmounts[] = [];
  for (const container of pod.spec.containers) {
    const own = of(container);
    add(total, own);
    steps.push(own);
  }
  const sidecars = new Map<string, bigint>();
  const highest = new Map<string, bigint>();
  for (const container of pod.spec.initContainers ?? []) {
    const own = of(container);
    const step = new Map(sidecars);
    add(step, own);
    if (isSidecar(container)) {
      add(total, own);
      add(sidecars, own);
    }
    steps.push(step);
    raise(highest, step);
  }
  raise(total, highest);
  return { total, steps };
}

function add(to: Map<string, bigint>, from: ResourceAmounts): void {
  for (const [name, amount] of from) to.set(name, (to.get(name) ?? 0n) + amount);
}

function raise(to: Map<string, bigint>, from: ResourceAmounts): void {
  for (const [name, amount] of from) {
    const old = to.get(name);
    if (old === undefined || amount > old) to.set(name, amount);
  }
}

function override(to: Map<string, bigint>, list: Readonly<Record<string, string>> | undefined): void {
  for (const [name, amount] of amountsOf(list)) if (isPodLevelResource(name)) to.set(name, amount);
}

/** The kernel's bounds of cpu.shares, and its minimum quota. */
export const minCpuShares = 2n;
export const maxCpuShares = 262_144n;
const defaultQuotaPeriodUs = 100_000n;
const minQuotaUs = 1_000n;

export function milliCpuToShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * 1024n) / 1000n;
  return shares < minCpuShares ? minCpuShares : shares > maxCpuShares ? maxCpuShares : shares;
}

/** Microseconds of CPU in each period; 0 (no quota) for no limit. */
export function milliCpuToQuota(milliCpu: bigint, periodUs: bigint = defaultQuotaPeriodUs): bigint {
  if (milliCpu === 0n) return 0n;
  const quota = (milliCpu * periodUs) / 1000n;
  return quota < minQuotaUs ? minQuotaUs : quota;
}

export function sharesToMilliCpu(shares: bigint): bigint {
  return shares < minCpuShares ? 0n : (shares * 1000n + 1023n) / 1024n;
}

export function quotaToMilliCpu(quotaUs: bigint, periodUs: bigint): bigint {
  return quotaUs < 0n || periodUs === 0n ? 0n : (quotaUs * 1000n) / periodUs;
}

/** The page size of a huge page resource name, in bytes; undefined for other resources. */
export function hugepageBytes(resourceName: string): bigint | undefined {
  if (!resourceName.startsWith(hugepagesPrefix)) return undefined;
  const size = parseQuantity(resourceName.slice(hugepagesPrefix.length));
  return size === undefined ? undefined : ceilDivide(size, unit);
}

/** The resource of one page size: "hugepages-2Mi". */
export function hugepagesName(pageBytes: bigint): string {
  return `${hugepagesPrefix}${formatQuantity(pageBytes * unit, "binary")}`;
}

const sizeUnits = ["B", "KB", "MB", "GB", "TB", "PB"];

/** A page size as cgroup file names write it: "2MB", "1GB". */
export function hugepageUnit(bytes: bigint): string {
  let size = bytes;
  let power = 0;
  while (size > 0n && size % 1024n === 0n && power < sizeUnits.length - 1) {
    size /= 1024n;
    power++;
  }
  return `${size}${sizeUnits[power]}`;
}

/** Huge page amounts by page size ("2MB") in bytes. Names of the same size are added up. */
export function hugepageAmounts(amounts: ResourceAmounts): Map<string, bigint> {
  const bySize = new Map<string, bigint>();
  for (const name of amounts.keys()) {
    const bytes = hugepageBytes(name);
    if (bytes === undefined) continue;
    const size = hugepageUnit(bytes);
    bySize.set(size, (bySize.get(size) ?? 0n) + wholeOf(amounts, name));
  }
  return bySize;
}
