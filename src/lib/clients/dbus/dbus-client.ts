import { orAbort } from "../../base/abort.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { abortError, errnoOf, isAbort, KubeletError, messageOf } from "../../base/errors.ts";
import { type CallOptions, DBusConnection, DBusError, disconnected, type MethodCall } from "./connection.ts";
import type { Message } from "./message.ts";
import type { DBusValue } from "./value.ts";

export interface DBusEndpoint {
  readonly socketPath: string;
  /** A bus requires a Hello call, and match rules for signals; a peer sends all of its signals. */
  readonly kind: "bus" | "peer";
}

/** Which signals are delivered; a field that is absent matches all. */
export interface SignalMatch {
  /** The well-known name of the sender. On a bus, only signals of its owner are delivered. */
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
const ownerChanged = { sender: busName, interface: busName, member: "NameOwnerChanged" };
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
    const owners = new SignalOwners();
    let ready = false;
    const connection = await DBusConnection.open({
      socketPath,
      clock,
      signal,
      onSignal: (message) => {
        if (kind === "bus") owners.update(message);
        this.#deliver(message, kind === "bus" ? owners : undefined);
      },
      onClose: (error) => {
        if (!ready) return;
        this.#connected = undefined;
        this.#o.onDisconnect?.(error);
      },
    });
    try {
      if (kind === "bus") {
        await connection.call({ ...bus, member: "Hello" }, { signal });
        const addMatch = (match: SignalMatch) =>
          connection.call(
            { ...bus, member: "AddMatch", signature: "s", body: [matchRule(match)] },
            { signal },
          );
        const matches = (this.#o.signals ?? []).map(({ match }) => match);
        for (const sender of new Set(matches.map((match) => match.sender))) {
          if (sender === undefined || sender === busName) continue;
          // Before its owner is requested, so that no change is missed.
          await addMatch({ ...ownerChanged, arg0: sender });
          await owners.request(sender, connection, signal);
        }
        for (const match of matches) await addMatch(match);
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

  #deliver(message: Message, owners: SignalOwners | undefined): void {
    for (const { match, onSignal } of this.#o.signals ?? []) {
      const matches = (["path", "interface", "member"] as const).every(
        (key) => match[key] === undefined || match[key] === message[key],
      );
      if (!matches || (match.arg0 !== undefined && match.arg0 !== message.body[0])) continue;
      if (!owners || match.sender === undefined || owners.sent(message, match.sender)) onSignal(message.body);
    }
  }
}

/**
 * The owners of the names of senders. Match rules do not suffice: any user of the machine can send a signal to a connection directly,
 * whatever its rules are. The bus sets the sender of each message, to a unique name or, for its own, to its name.
 */
class SignalOwners {
  readonly #owners = new Map<string, unknown>();

  /** Follows a signal of the bus. */
  update(message: Message): void {
    const { sender, interface: type, member } = message;
    if (sender !== busName || type !== ownerChanged.interface || member !== ownerChanged.member) return;
    const [name, , owner] = message.body;
    this.#owners.set(String(name), owner);
  }

  async request(name: string, connection: DBusConnection, signal: AbortSignal): Promise<void> {
    const call = { ...bus, member: "GetNameOwner", signature: "s", body: [name] };
    try {
      const [owner] = await connection.call(call, { signal });
      // A change that was received since is newer than the reply, and one before it is the same.
      if (!this.#owners.has(name)) this.#owners.set(name, owner);
    } catch (error) {
      // It has no owner yet.
      if (!(error instanceof DBusError)) throw error;
    }
  }

  sent({ sender }: Message, name: string): boolean {
    return sender !== undefined && sender === (name === busName ? busName : this.#owners.get(name));
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
