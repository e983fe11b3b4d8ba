import { parseDuration } from "../../../lib/config/duration.ts";
import { parseQuantity } from "../../../lib/model/quantity.ts";
import { canonicalQuantity, formatQuantity } from "../../../lib/model/quantity-form.ts";
import { conditionOf, type Observations, type Signal, signals } from "./signals.ts";

/** An amount, or a share of the capacity; `text` is the configured text. */
type Amount = { readonly text: string } & ({ readonly units: number } | { readonly fraction: number });

/** A threshold is met if less than its value is available. */
export interface Threshold {
  readonly signal: Signal;
  readonly value: Amount;
  /** How long it has to be met before pods are evicted; 0 for a hard threshold. */
  readonly graceMs: number;
  readonly minReclaim?: Amount;
}

export interface ThresholdSettings {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** True if the limit of all pods together is enforced. The hard memory threshold then applies to it, too. */
  readonly enforcesAllocatable: boolean;
}

/** Which of nodefs, imagefs and containerfs are separate filesystems. */
export interface FsLayout {
  /** The imagefs, with the images or with images and writable layers, is not the nodefs. */
  readonly dedicatedImageFs: boolean;
  /** Writable layers are not on the imagefs. */
  readonly splitContainerFs: boolean;
}

/** The thresholds of a valid configuration, in its order, hard ones first. */
export function thresholdsOf(settings: ThresholdSettings): Threshold[] {
  const reclaims = settings.evictionMinimumReclaim;
  const list = (values: Readonly<Record<string, string>>, graceOf: (signal: string) => number) =>
    Object.entries(values).flatMap(([signal, text]): Threshold[] => {
      // Neither can be met.
      if (text === "0%" || text === "100%" || !isSignal(signal)) return [];
      const reclaim = reclaims[signal];
      const minReclaim = reclaim === undefined ? {} : { minReclaim: amountOf(reclaim) };
      return [{ signal, value: amountOf(text), graceMs: graceOf(signal), ...minReclaim }];
    });
  const hard = list(settings.evictionHard, () => 0);
  const soft = list(
    settings.evictionSoft,
    (signal) => parseDuration(settings.evictionSoftGracePeriod[signal] ?? "0") ?? 0,
  );
  const allocatable = settings.enforcesAllocatable
    ? [...hard, ...soft]
        .filter((t) => t.signal === "memory.available" && isHard(t))
        .map((t): Threshold => ({ ...t, signal: "allocatableMemory.available" }))
    : [];
  return [...hard, ...soft, ...allocatable];
}

/**
 * The containerfs is the nodefs or the imagefs, and has its thresholds. Thresholds that were configured for the containerfs
 * do not apply, as in the reference kubelet.
 */
export function withContainerFs(thresholds: readonly Threshold[], layout: FsLayout): Threshold[] {
  const source = layout.dedicatedImageFs && !layout.splitContainerFs ? "imagefs" : "nodefs";
  const others = thresholds.filter(({ signal }) => !signal.startsWith("containerfs."));
  const copies = others
    .filter(({ signal }) => signal.startsWith(`${source}.`))
    .map((t): Threshold => ({ ...t, signal: t.signal.replace(source, "containerfs") as Signal }));
  return [...others, ...copies];
}

export function isHard({ graceMs }: Threshold): boolean {
  return graceMs === 0;
}

export function isOfDisk({ signal }: Threshold): boolean {
  return conditionOf(signal) === "DiskPressure";
}

/** The value in units of the signal. A share is rounded down. */
export function unitsOf(amount: Amount, capacity: number): number {
  return "units" in amount ? amount.units : Math.trunc(capacity * amount.fraction);
}

/** Formats an amount as a quantity: the configured one, or the share of the capacity. */
export function quantityText(amount: Amount, capacity: number): string {
  return "units" in amount
    ? (canonicalQuantity(amount.text) ?? amount.text)
    : formatQuantity(BigInt(unitsOf(amount, capacity)) * 1_000_000_000n, "binary");
}

/** The thresholds that are met, regardless of their grace period. With `minReclaim`, thresholds count as met until that much more is available. */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  o: { readonly minReclaim: boolean },
): Threshold[] {
  return thresholds.filter(({ signal, value, minReclaim }) => {
    const found = observations.get(signal);
    if (!found) return false;
    const { available, capacity } = found;
    const more = o.minReclaim && minReclaim ? unitsOf(minReclaim, capacity) : 0;
    return available < unitsOf(value, capacity) + more;
  });
}

/** Memory first, the others in the order of the configuration. */
export function byUrgency(thresholds: readonly Threshold[]): Threshold[] {
  const rank = ({ signal }: Threshold) => (conditionOf(signal) === "MemoryPressure" ? 0 : 1);
  return [...thresholds].sort((a, b) => rank(a) - rank(b));
}

function isSignal(text: string): text is Signal {
  return Object.hasOwn(signals, text);
}

/** Shares are in single precision, as in the reference kubelet, so that the results are equal. */
function amountOf(text: string): Amount {
  if (text.endsWith("%")) return { text, fraction: Math.fround(Math.fround(Number.parseFloat(text)) / 100) };
  return { text, units: Number(parseQuantity(text) ?? 0n) / 1e9 };
}
