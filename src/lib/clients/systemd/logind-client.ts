import { closeSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { KubeletError } from "../../base/errors.ts";
import { DBusClient } from "../dbus/dbus-client.ts";
import { callForFd } from "../dbus/fd-call.ts";
import type { DBusValue, Variant } from "../dbus/value.ts";

export interface LogindOptions {
  readonly clock: Clock;
  /** The socket of the system bus. */
  readonly socketPath?: string;
  /** The machine is about to shut down, or no longer is. A signal may be late: check `isPreparing`. */
  readonly onPrepareForShutdown: (isActive: boolean) => void;
  /** The connection was lost, or logind was restarted: signals may have been missed. */
  readonly onLost: (why: string) => void;
}

/** A delay lock: while one exists, a shutdown waits, at most for the inhibit delay of logind. */
export interface InhibitorLock {
  /** May be called more than once. */
  release(): void;
}

const systemBus = "/run/dbus/system_bus_socket";
const login1 = "org.freedesktop.login1";
const path = "/org/freedesktop/login1";
const manager = `${login1}.Manager`;
const systemd1 = "org.freedesktop.systemd1";
const hangup = 1; // SIGHUP

/** The machine's logind: inhibitor locks, and the PrepareForShutdown signal. Connects with the first call. */
export class LogindClient {
  readonly #clock: Clock;
  readonly #socketPath: string;
  readonly #dbus: DBusClient;

  constructor({ clock, socketPath = systemBus, onPrepareForShutdown, onLost }: LogindOptions) {
    this.#clock = clock;
    this.#socketPath = socketPath;
    const bus = "org.freedesktop.DBus";
    this.#dbus = new DBusClient({
      clock,
      endpoints: [{ socketPath, kind: "bus" }],
      signals: [
        {
          match: { sender: login1, path, interface: manager, member: "PrepareForShutdown" },
          onSignal: ([isActive]) => {
            if (typeof isActive === "boolean") onPrepareForShutdown(isActive);
          },
        },
        {
          match: { sender: bus, interface: bus, member: "NameOwnerChanged", arg0: login1 },
          onSignal: ([, before, after]) => {
            // A logind that is started on demand had no owner before.
            if (before !== "" && before !== after) onLost("logind was stopped or restarted");
          },
        },
      ],
      onDisconnect: (error) => onLost(error.message),
    });
  }

  /** For how long locks delay a shutdown at most. */
  async inhibitDelayMs(signal?: AbortSignal): Promise<number> {
    const micros = await this.#property("InhibitDelayMaxUSec", signal);
    if (typeof micros !== "bigint") throw invalid("InhibitDelayMaxUSec");
    return Number(micros / 1000n);
  }

  /** True while a shutdown waits for locks. */
  async isPreparing(signal?: AbortSignal): Promise<boolean> {
    const isPreparing = await this.#property("PreparingForShutdown", signal);
    if (typeof isPreparing !== "boolean") throw invalid("PreparingForShutdown");
    return isPreparing;
  }

  /** A lock that delays shutdowns. It outlives the connection to the bus and restarts of logind, and ends with the process. */
  async inhibit(who: string, why: string, signal?: AbortSignal): Promise<InhibitorLock> {
    const fd = await callForFd(
      {
        destination: login1,
        path,
        interface: manager,
        member: "Inhibit",
        signature: "ssss",
        body: ["shutdown", who, why, "delay"],
      },
      { clock: this.#clock, socketPath: this.#socketPath, ...(signal && { signal }) },
    );
    let isHeld = true;
    return {
      release() {
        if (isHeld) closeSync(fd);
        isHeld = false;
      },
    };
  }

  /** Makes logind read its configuration again, soon after this resolves. */
  async reload(signal?: AbortSignal): Promise<void> {
    await this.#dbus.call(
      {
        destination: systemd1,
        path: "/org/freedesktop/systemd1",
        interface: `${systemd1}.Manager`,
        member: "KillUnit",
        signature: "ssi",
        body: ["systemd-logind.service", "all", hangup],
      },
      signal && { signal },
    );
  }

  close(): void {
    this.#dbus.close();
  }

  async #property(name: string, signal: AbortSignal | undefined): Promise<DBusValue> {
    const [variant] = await this.#dbus.call(
      {
        destination: login1,
        path,
        interface: "org.freedesktop.DBus.Properties",
        member: "Get",
        signature: "ss",
        body: [manager, name],
      },
      signal && { signal },
    );
    return (variant as Variant).value;
  }
}

function invalid(name: string): KubeletError {
  return new KubeletError("InvalidDBusData", `logind returned an unexpected value of ${name}`);
}
