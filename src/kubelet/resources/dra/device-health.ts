import type { Clock } from "../../../lib/base/clock.ts";
import { msFromNow, msSince } from "../../../lib/base/clock.ts";
import { type MonotonicTime, msBetween } from "../../../lib/base/time.ts";

export type Health = "Healthy" | "Unhealthy" | "Unknown";

/** The health of one device, as reported by its driver. */
export interface ReportedHealth {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: Health;
  readonly message: string;
  /** The report is valid for this long. */
  readonly timeoutMs: number;
}

export interface DeviceHealth {
  readonly health: Health;
  readonly message: string;
}

const unknown: DeviceHealth = { health: "Unknown", message: "" };

interface Entry extends ReportedHealth {
  readonly at: MonotonicTime;
}

interface Driver {
  readonly devices: Map<string, Entry>;
  /** When the next report may become stale. */
  timer: { readonly at: MonotonicTime; readonly cancel: () => void } | undefined;
}

/** The limit for one driver: one that reports ever more devices must not use up the memory of the agent. */
const maxDevices = 10_000;

/** The health of devices by driver. A device whose driver has not reported it for too long is unknown. */
export class DevicesHealth {
  readonly #clock: Clock;
  readonly #onChange: (driver: string) => void;
  readonly #drivers = new Map<string, Driver>();

  constructor(clock: Clock, onChange: (driver: string) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get(driver: string, poolName: string, deviceName: string): DeviceHealth {
    const entry = this.#drivers.get(driver)?.devices.get(`${poolName}/${deviceName}`);
    return entry && !this.#isStale(entry) ? entry : unknown;
  }

  /**
   * Devices that are not in the report keep their health until it times out. Returns how many devices were ignored, because the driver has
   * reported too many.
   */
  report(driver: string, reported: readonly ReportedHealth[]): number {
    const at = this.#clock.monotonic();
    const state = this.#drivers.get(driver) ?? { devices: new Map<string, Entry>(), timer: undefined };
    this.#drivers.set(driver, state);
    const { devices } = state;
    if (devices.size + reported.length > maxDevices) this.#removeStale(state);
    let isChanged = false;
    let ignored = 0;
    let validMs = Number.POSITIVE_INFINITY;
    for (const device of reported) {
      const key = `${device.poolName}/${device.deviceName}`;
      const known = devices.get(key);
      if (!known && devices.size >= maxDevices) {
        ignored++;
        continue;
      }
      const old = known && !this.#isStale(known) ? known : unknown;
      isChanged ||= old.health !== device.health || old.message !== device.message;
      devices.set(key, { ...device, at });
      validMs = Math.min(validMs, device.timeoutMs);
    }
    this.#watchTimeout(driver, state, validMs);
    if (isChanged) this.#onChange(driver);
    return ignored;
  }

  /** The driver has stopped reporting. */
  clear(driver: string): void {
    this.#drivers.get(driver)?.timer?.cancel();
    if (this.#drivers.delete(driver)) this.#onChange(driver);
  }

  #isStale({ at, timeoutMs }: Entry): boolean {
    return msSince(this.#clock, at) > timeoutMs;
  }

  /** True if there were any. */
  #removeStale({ devices }: Driver): boolean {
    const before = devices.size;
    for (const [key, entry] of devices) if (this.#isStale(entry)) devices.delete(key);
    return devices.size < before;
  }

  /** The statuses of pods show that a device became unknown, even if nothing else changes. */
  #watchTimeout(driver: string, state: Driver, validMs: number): void {
    if (!Number.isFinite(validMs)) return;
    const at = msFromNow(this.#clock, validMs + 1);
    if (state.timer && msBetween(state.timer.at, at) >= 0) return;
    state.timer?.cancel();
    const cancel = this.#clock.after(validMs + 1, () => {
      state.timer = undefined;
      const isChanged = this.#removeStale(state);
      let leftMs = Number.POSITIVE_INFINITY;
      for (const entry of state.devices.values())
        leftMs = Math.min(leftMs, entry.timeoutMs - msSince(this.#clock, entry.at));
      this.#watchTimeout(driver, state, leftMs);
      if (isChanged) this.#onChange(driver);
    });
    state.timer = { at, cancel };
  }
}
