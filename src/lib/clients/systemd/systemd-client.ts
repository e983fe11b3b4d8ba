import { stat } from "node:fs/promises";
import { abortable } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { KubeletError } from "../../base/errors.ts";
import { DBusError } from "../dbus/connection.ts";
import { DBusClient, type DBusEndpoint, isDisconnected } from "../dbus/dbus-client.ts";
import type { DBusValue, Variant } from "../dbus/value.ts";

export type UnitProperty = readonly [name: string, value: Variant];

export interface SystemdOptions {
  readonly clock: Clock;
  readonly endpoints?: readonly DBusEndpoint[];
}

export interface UnitOptions {
  readonly signal?: AbortSignal;
}

const destination = "org.freedesktop.systemd1";
const path = "/org/freedesktop/systemd1";
const manager = { destination, path, interface: `${destination}.Manager` } as const;

/** The bus may be absent or not started yet; root can reach systemd without it. */
const systemEndpoints: readonly DBusEndpoint[] = [
  { socketPath: "/run/dbus/system_bus_socket", kind: "bus" },
  { socketPath: "/run/systemd/private", kind: "peer" },
];
const jobMs = 30_000;
/** A restart of the bus or of systemd ends the connection; a restart of both in a row is rare. */
const attempts = 3;

interface JobWatch {
  ended(job: string, result: string): void;
  lost(error: Error): void;
}

/** The machine's systemd: transient units, their properties and their jobs. */
export class SystemdClient {
  readonly #clock: Clock;
  readonly #dbus: DBusClient;
  readonly #watches = new Set<JobWatch>();
  #version: number | undefined;

  constructor({ clock, endpoints = systemEndpoints }: SystemdOptions) {
    this.#clock = clock;
    this.#dbus = new DBusClient({
      clock,
      endpoints,
      signals: [
        {
          match: { sender: destination, path, interface: manager.interface, member: "JobRemoved" },
          onSignal: ([, job, , result]) => {
            for (const watch of this.#watches) watch.ended(String(job), String(result));
          },
        },
      ],
      onDisconnect: (error) => {
        for (const watch of this.#watches) watch.lost(error);
      },
    });
  }

  /** 252 for systemd 252.38-1~deb12u1. */
  async version(options?: UnitOptions): Promise<number> {
    this.#version ??= parseVersion(await this.#managerProperty("Version", options));
    return this.#version;
  }

  /**
   * Creates and starts a unit that exists until it is stopped or the machine reboots. If a unit of that name is loaded, it is
   * started, and its properties are unchanged.
   */
  async startTransientUnit(
    name: string,
    properties: readonly UnitProperty[],
    options?: UnitOptions,
  ): Promise<void> {
    const body = [name, "replace", properties, []];
    let result: string;
    try {
      result = await this.#job("StartTransientUnit", "ssa(sv)a(sa(sv))", body, options);
    } catch (error) {
      if (!hasErrorName(error, "org.freedesktop.systemd1.UnitExists")) throw error;
      result = await this.#job("StartUnit", "ss", [name, "replace"], options);
    }
    if (result === "done") return;
    await this.resetFailedUnit(name, options);
    throw new KubeletError("SystemdJob", `systemd did not start ${name}: ${result}`);
  }

  /** Sets properties of a unit, until the machine reboots. */
  async setUnitProperties(
    name: string,
    properties: readonly UnitProperty[],
    options?: UnitOptions,
  ): Promise<void> {
    await this.#call("SetUnitProperties", "sba(sv)", [name, true, properties], options);
  }

  /** Stops a unit and all units in it. A unit that is not loaded is not an error. */
  async stopUnit(name: string, options?: UnitOptions): Promise<void> {
    let result = "done";
    try {
      result = await this.#job("StopUnit", "ss", [name, "replace"], options);
    } catch (error) {
      if (!hasErrorName(error, noSuchUnit)) throw error;
    }
    await this.resetFailedUnit(name, options);
    if (result !== "done") throw new KubeletError("SystemdJob", `systemd did not stop ${name}: ${result}`);
  }

  /** Lets systemd unload a unit that failed. A unit that is not loaded is not an error. */
  async resetFailedUnit(name: string, options?: UnitOptions): Promise<void> {
    try {
      await this.#call("ResetFailedUnit", "s", [name], options);
    } catch (error) {
      if (!hasErrorName(error, noSuchUnit)) throw error;
    }
  }

  close(): void {
    this.#dbus.close();
  }

  async #managerProperty(name: string, options?: UnitOptions): Promise<string> {
    const [value] = await this.#repeat(() =>
      this.#dbus.call(
        {
          destination,
          path,
          interface: "org.freedesktop.DBus.Properties",
          member: "Get",
          signature: "ss",
          body: [manager.interface, name],
        },
        options,
      ),
    );
    return String((value as Variant).value);
  }

  #call(member: string, signature: string, body: readonly DBusValue[], options?: UnitOptions) {
    return this.#repeat(() => this.#dbus.call({ ...manager, member, signature, body }, options));
  }

  /** A call that starts a job, until the job ends: "done", "failed", "canceled", "timeout", "dependency" or "skipped". */
  #job(
    member: string,
    signature: string,
    body: readonly DBusValue[],
    { signal }: UnitOptions = {},
  ): Promise<string> {
    return this.#repeat(async () => {
      // The job may end before the reply is handled, so watching starts before the call.
      const results = new Map<string, string>();
      let lost: Error | undefined;
      let check = () => {};
      const watch: JobWatch = {
        ended: (job, result) => {
          results.set(job, result);
          check();
        },
        lost: (error) => {
          lost = error;
          check();
        },
      };
      this.#watches.add(watch);
      try {
        const [job] = await this.#dbus.call({ ...manager, member, signature, body }, { signal });
        return await abortable<string>(signal, (resolve, reject) => {
          check = () => {
            const result = results.get(String(job));
            if (result !== undefined) resolve(result);
            else if (lost) reject(new KubeletError("DBusDisconnected", lost.message, { cause: lost }));
          };
          check();
          return this.#clock.after(jobMs, () =>
            reject(
              new KubeletError(
                "SystemdJob",
                `${member} ${String(body[0])}: did not finish within ${jobMs / 1000} s`,
              ),
            ),
          );
        });
      } finally {
        this.#watches.delete(watch);
      }
    });
  }

  /** All calls may be repeated: a unit that is already started or stopped is not an error. */
  async #repeat<T>(operation: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await operation();
      } catch (error) {
        const repeatable = isDisconnected(error) || hasErrorName(error, "org.freedesktop.DBus.Error.NoReply");
        if (!repeatable || attempt === attempts) throw error;
      }
    }
  }
}

const noSuchUnit = "org.freedesktop.systemd1.NoSuchUnit";

function hasErrorName(error: unknown, name: string): boolean {
  return error instanceof DBusError && error.errorName === name;
}

/** "252.38-1~deb12u1", "v245.4-1.fc32" or "245" */
function parseVersion(text: string): number {
  const digits = /^v?(\d+)/.exec(text)?.[1];
  if (digits === undefined) throw new KubeletError("SystemdVersion", `"${text}" is not a version of systemd`);
  return Number(digits);
}

/** True if systemd is the init system of this machine (sd_booted(3)). */
export async function isSystemdRunning(directory = "/run/systemd/system"): Promise<boolean> {
  try {
    return (await stat(directory)).isDirectory();
  } catch {
    return false;
  }
}
