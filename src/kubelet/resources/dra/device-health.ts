import type { Clock } from "../../../lib/base/clock.ts";
import { msSince } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";

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

/** The health of devices by driver. A device whose driver has not reported it for too long is unknown. */
export class DevicesHealth {
  readonly #clock: Clock;
  readonly #onChange: (driver: string) => void;
  readonly #drivers = new Map<string, Map<string, Entry>>();
  readonly #timers = new Map<string, () => void>();

  constructor(clock: Clock, onChange: (driver: string) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get(driver: string, poolName: string, deviceName: string): DeviceHealth {
    const entry = this.#drivers.get(driver)?.get(`${poolName}/${deviceName}`);
    return entry && !this.#isStale(entry) ? entry : unknown;
  }

  /** Devices that are not in the report keep their health until it times out. */
  report(driver: string, devices: readonly ReportedHealth[]): void {
    const at = this.#clock.monotonic();
    const known = new Map(
      [...(this.#drivers.get(driver) ?? [])].filter(([, entry]) => !this.#isStale(entry)),
    );
    let isChanged = false;
    for (const device of devices) {
      const key = `${device.poolName}/${device.deviceName}`;
      const old = known.get(key) ?? unknown;
      isChanged ||= old.health !== device.health || old.message !== device.message;
      known.set(key, { ...device, at });
    }
    this.#drivers.set(driver, known);
    this.#watchTimeout(driver);
    if (isChanged) this.#onChange(driver);
  }

  /** The driver has stopped reporting. */
  clear(driver: string): void {
    this.#timers.get(driver)?.();
    this.#timers.delete(driver);
    if (this.#drivers.delete(driver)) this.#onChange(driver);
  }

  #isStale({ at, timeoutMs }: Entry): boolean {
    return msSince(this.#clock, at) > timeoutMs;
  }

  /** The statuses of pods show that a device became unknown, even if nothing else changes. */
  #watchTimeout(driver: string): void {
    this.#timers.get(driver)?.();
    const left = [...(this.#drivers.get(driver)?.values() ?? [])]
      .map(({ at, timeoutMs }) => timeoutMs - msSince(this.#clock, at) + 1)
      .filter((ms) => ms > 0);
    if (left.length === 0) return void this.#timers.delete(driver);
    this.#timers.set(
      driver,
      this.#clock.after(Math.min(...left), () => {
        this.#watchTimeout(driver);
        this.#onChange(driver);
      }),
    );
  }
}
