import { parseQuantity } from "../../lib/model/quantity.ts";
import type { ResourceList } from "./node-types.ts";

export interface ReservationSettings {
  readonly kubeReserved?: Readonly<Record<string, string>>;
  readonly systemReserved?: Readonly<Record<string, string>>;
  /** Hard eviction thresholds by signal: the reserve is not allocatable. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  /** How many CPUs reservedSystemCPUs names; these replace reserved CPU amounts. */
  readonly reservedCpus?: number;
  /** --experimental-allocatable-ignore-eviction */
  readonly ignoreEviction?: boolean;
}

const resourceOfSignal: Record<string, string> = {
  "memory.available": "memory",
  "nodefs.available": "ephemeral-storage",
};
const unit = 1_000_000_000n;

/** The reserved part of the capacity, in nano units; native resources only. */
export function reservationsOf(settings: ReservationSettings, capacity: ResourceList): Map<string, bigint> {
  const { reservedCpus = 0 } = settings;
  const system: ResourceList = { ...settings.systemReserved };
  const kube: ResourceList = { ...settings.kubeReserved };
  if (reservedCpus > 0) {
    system.cpu = String(reservedCpus);
    delete kube.cpu;
  }
  const eviction = settings.ignoreEviction ? new Map<string, bigint>() : evictionReserve(settings, capacity);
  const reserved = new Map<string, bigint>();
  for (const name of Object.keys(capacity)) {
    const amount = nano(system[name]) + nano(kube[name]) + (eviction.get(name) ?? 0n);
    if (amount !== 0n) reserved.set(name, amount);
  }
  return reserved;
}

function evictionReserve(settings: ReservationSettings, capacity: ResourceList): Map<string, bigint> {
  const reserve = new Map<string, bigint>();
  for (const [signal, value] of Object.entries(settings.evictionHard ?? {})) {
    const name = resourceOfSignal[signal];
    if (!name) continue;
    const percent = /^(.*)%$/.exec(value)?.[1];
    if (percent === undefined) reserve.set(name, nano(value));
    // 100% disables a threshold, as 0% does.
    else if (value !== "100%") reserve.set(name, share(percent, nano(capacity[name])));
  }
  return reserve;
}

/** Single precision, as in the reference kubelet, so that the results are equal. */
function share(percent: string, of: bigint): bigint {
  const fraction = Math.fround(Math.fround(Number(percent)) / 100);
  return BigInt(Math.trunc(Number(of / unit) * fraction)) * unit;
}

function nano(text: string | undefined): bigint {
  return text === undefined ? 0n : (parseQuantity(text) ?? 0n);
}
