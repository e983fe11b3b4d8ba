import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The fault of a connection when the byte is reached. */
export type Fault =
  /** Both sides are reset. */
  | "reset"
  /** Both sides are closed. */
  | "end"
  /** The receiving side is closed and may continue to send; it gets no response. */
  | "half-close"
  /** All data is dropped silently. */
  | "silence"
  /** The rest is delayed, and at first sent byte by byte. */
  | "delay";

export const faults: readonly Fault[] = ["reset", "end", "half-close", "silence", "delay"];

/** The fault occurs after `at` bytes in this direction, counted over all connections since the proxy was opened. */
export interface FaultPlan {
  readonly direction: "down" | "up";
  readonly at: number;
  readonly fault: Fault;
}

const slowBytes = 40;
const delayMs = 2;

/** A TCP proxy between a client and a server on this machine that fails at configured bytes. */
export class FaultyProxy {
  /** Bytes forwarded so far, to the client and to the server. */
  readonly forwarded = { down: 0, up: 0 };
  /** The number of faults that have occurred. */
  faultCount = 0;
  readonly #port: number;
  #plans: FaultPlan[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async open(port: number, plans: readonly FaultPlan[]): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(port, plans);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(port: number, plans: readonly FaultPlan[]) {
    this.#port = port;
    this.#plans = [...plans];
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** One more fault, `plan.at` bytes from now. */
  add(plan: FaultPlan): void {
    this.#plans.push({ ...plan, at: this.forwarded[plan.direction] + plan.at });
  }

  /** Removes all faults that have not occurred. */
  clear(): void {
    this.#plans = [];
  }

  /** Resets all connections. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#port, host: "127.0.0.1", allowHalfOpen: true });
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    }
    this.#forward("down", server, client);
    this.#forward("up", client, server);
  }

  #forward(direction: FaultPlan["direction"], from: Socket, to: Socket): void {
    /** Delayed data, in order. */
    let queue = Promise.resolve();
    let isDelayed = false;
    const write = (bytes: Buffer) => {
      if (!isDelayed) to.write(bytes);
      else queue = queue.then(() => void to.write(bytes));
    };
    const onData = (chunk: Buffer) => {
      const plan = this.#plans.find((p) => p.direction === direction);
      const before = this.forwarded[direction];
      this.forwarded[direction] += chunk.length;
      if (!plan || plan.at > before + chunk.length) return write(chunk);
      this.#plans = this.#plans.filter((p) => p !== plan);
      this.faultCount++;
      const at = Math.max(0, plan.at - before);
      const [head, rest] = [chunk.subarray(0, at), chunk.subarray(at)];
      if (plan.fault === "delay") {
        write(head);
        isDelayed = true;
        queue = trickle(rest, to);
        return;
      }
      from.off("data", onData);
      from.resume(); // data is dropped
      if (plan.fault === "silence") return write(head);
      // The data before the fault arrives first.
      to.write(head, () => {
        if (plan.fault === "reset") for (const end of [to, from]) end.resetAndDestroy();
        else {
          to.end();
          if (plan.fault === "end") from.end();
        }
      });
    };
    from.on("data", onData);
    from.on("end", () => void queue.then(() => to.end()));
    from.on("close", (hadError) => {
      if (hadError) to.destroy();
    });
  }
}

async function trickle(bytes: Buffer, to: Socket): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  const slow = Math.min(slowBytes, bytes.length);
  for (let i = 0; i < slow; i++) {
    to.write(bytes.subarray(i, i + 1));
    await new Promise((resolve) => setImmediate(resolve));
  }
  to.write(bytes.subarray(slow));
}
