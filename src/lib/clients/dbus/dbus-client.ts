import { orAbort } from "../../base/abort.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { abortError, errnoOf, isAbort, KubeletError, messageOf } from "../../base/errors.ts";
import { type CallOptions, DBusConnection, disconnected, type MethodCall } from "./connection.ts";
import type { Message } from "./message.ts";
import type { DBusValue } from "./value.ts";

export interface DBusEndpoint {
  readonly socketPath: string;
  /** A bus requires a Hello call, and match rules for signals; a peer sends all of its signals. */
  readonly kind: "bus" | "peer";
}

/** Which signals are delivered; a field that is absent matches all. */
export interface SignalMatch {
  readonly sender?: string;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  /** The first argument, a string. */
  readonly arg0?: string;
}

export interface SignalHandler {
  readonly match: SignalMatch;
  readonly onSignal: (body: readonly DBusValue[]) => void;
}

export interface DBusClientOptions {
  /** Tried in this order on each connection attempt. */
  readonly endpoints: readonly DBusEndpoint[];
  readonly clock: Clock;
  readonly signals?: readonly SignalHandler[];
  /** Signals that are sent before the next call reconnects are lost. */
  readonly onDisconnect?: (error: Error) => void;
}

interface Connected {
  readonly connection: DBusConnection;
  readonly kind: DBusEndpoint["kind"];
}

const busName = "org.freedesktop.DBus";
const bus = { destination: busName, path: "/org/freedesktop/DBus", interface: busName };
/** A socket with a full backlog rejects with EAGAIN. The delays, from 100 ms and doubled each time, add up to 6.3 s. */
const attempts = 7;
const firstDelayMs = 100;

/** Connects on demand, and reconnects after the connection is lost. */
export class DBusClient {
  readonly #o: DBusClientOptions;
  readonly #stopped = new AbortController();
  #connected: Promise<Connected> | undefined;

  constructor(options: DBusClientOptions) {
    this.#o = options;
  }

  /** One call. If its connection is lost, it rejects with the code `disconnected`; the next call reconnects. */
  async call(call: MethodCall, options: CallOptions = {}): Promise<readonly DBusValue[]> {
    const { connection, kind } = await this.#connect(options.signal);
    // A peer has no names: it is its only destination.
    const { destination, ...direct } = call;
    return connection.call(kind === "bus" ? call : direct, options);
  }

  close(): void {
    this.#stopped.abort(new Error("the client was closed"));
    this.#connected?.then(
      ({ connection }) => connection.close(),
      () => {},
    );
  }

  /** Concurrent callers share one attempt, which continues if one of them aborts. */
  async #connect(signal: AbortSignal | undefined): Promise<Connected> {
    if (this.#stopped.signal.aborted) throw abortError(this.#stopped.signal.reason);
    this.#connected ??= this.#open().catch((error: unknown) => {
      this.#connected = undefined;
      throw error;
    });
    return orAbort(this.#connected, signal);
  }

  async #open(): Promise<Connected> {
    const failures: string[] = [];
    for (const endpoint of this.#o.endpoints) {
      try {
        return { connection: await this.#openEndpoint(endpoint), kind: endpoint.kind };
      } catch (error) {
        if (isAbort(error)) throw error;
        failures.push(`${endpoint.socketPath}: ${messageOf(error)}`);
      }
    }
    throw new KubeletError("DBusUnavailable", `connect to D-Bus: ${failures.join("; ")}`);
  }

  async #openEndpoint(endpoint: DBusEndpoint): Promise<DBusConnection> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#openOnce(endpoint);
      } catch (error) {
        if (errnoOf(error) !== "EAGAIN" || attempt === attempts) throw error;
        await sleep(this.#o.clock, firstDelayMs << (attempt - 1), this.#stopped.signal);
      }
    }
  }

  async #openOnce({ socketPath, kind }: DBusEndpoint): Promise<DBusConnection> {
    const { clock } = this.#o;
    const signal = this.#stopped.signal;
    let ready = false;
    const connection = await DBusConnection.open({
      socketPath,
      clock,
      signal,
      onSignal: (message) => this.#deliver(message),
      onClose: (error) => {
        if (!ready) return;
        this.#connected = undefined;
        this.#o.onDisconnect?.(error);
      },
    });
    try {
      if (kind === "bus") {
        await connection.call({ ...bus, member: "Hello" }, { signal });
        for (const { match } of this.#o.signals ?? []) {
          const call = { ...bus, member: "AddMatch", signature: "s", body: [matchRule(match)] };
          await connection.call(call, { signal });
        }
      }
    } catch (error) {
      connection.close();
      throw error;
    }
    // It may have been lost between the last reply and this continuation.
    if (!connection.isOpen) throw new KubeletError(disconnected, "D-Bus connection lost while connecting");
    ready = true;
    return connection;
  }

  /** A bus resolves well-known senders to unique names, so the sender of a message is not compared. */
  #deliver(message: Message): void {
    for (const { match, onSignal } of this.#o.signals ?? []) {
      const matches = (["path", "interface", "member"] as const).every(
        (key) => match[key] === undefined || match[key] === message[key],
      );
      if (matches && (match.arg0 === undefined || match.arg0 === message.body[0])) onSignal(message.body);
    }
  }
}

/** True if the call may be repeated on a new connection, provided that repeating it is harmless. */
export function isDisconnected(error: unknown): boolean {
  return errnoOf(error) === disconnected;
}

function matchRule(match: SignalMatch): string {
  const rules = Object.entries({ type: "signal", ...match }).filter(([, value]) => value !== undefined);
  return rules.map(([key, value]) => `${key}='${value}'`).join(",");
}
