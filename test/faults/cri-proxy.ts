import { once } from "node:events";
import { rmSync } from "node:fs";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
} from "node:http2";
import { connect as connectSocket, createServer, type Server, type Socket } from "node:net";

/** A fault in calls to one CRI method. */
export interface CriFault {
  /** As in the .proto file, for example "RunPodSandbox". */
  readonly method: string;
  /** Only requests that contain this text, for example the name of a pod or the id of a container. */
  readonly contains?: string;
  /** How many calls it affects; default 1. */
  readonly times?: number;
  readonly effect:
    | { readonly kind: "delay"; readonly ms: number }
    /** The call is not forwarded, and there is no response until `release` or until the caller cancels it. */
    | { readonly kind: "hang" }
    /** The call is forwarded, and its response is held back until `release` or until the caller cancels it. A stream gets no more messages. */
    | { readonly kind: "hang-response" }
    /** A gRPC status instead of the call. */
    | { readonly kind: "fail"; readonly code: number }
    /** The call is forwarded; its response is replaced with a gRPC status. */
    | { readonly kind: "fail-response"; readonly code: number };
}

interface PendingFault {
  readonly fault: CriFault;
  left: number;
}

/**
 * A transparent gRPC proxy on a unix socket, between an agent and its container runtime, that delays, holds back or fails chosen calls.
 * Each connection of the agent has its own connection to the runtime, and both end together.
 */
export class CriProxy {
  /** Forwarded and faulty calls so far, by method. */
  readonly calls = new Map<string, number>();
  /** Gets each call with its request, in the framing of gRPC. */
  onCall: ((method: string, request: Buffer) => void) | undefined;
  readonly #path: string;
  readonly #target: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** For each call that is held back, the function that continues it. */
  readonly #held = new Set<() => void>();
  #faults: PendingFault[] = [];

  static async open(path: string, target: string): Promise<CriProxy> {
    const proxy = new CriProxy(path, target);
    rmSync(path, { force: true });
    proxy.#server.listen(path);
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(path: string, target: string) {
    this.#path = path;
    this.#target = target;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get endpoint(): string {
    return `unix://${this.#path}`;
  }

  /** The number of calls that are held back. */
  get held(): number {
    return this.#held.size;
  }

  add(...faults: CriFault[]): void {
    for (const fault of faults) this.#faults.push({ fault, left: fault.times ?? 1 });
  }

  /** Removes all faults that have not occurred. Calls that are held back continue. */
  release(): void {
    this.#faults = [];
    for (const resume of [...this.#held]) resume();
  }

  /** Breaks all connections. */
  reset(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#faults = [];
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#path, { force: true });
  }

  #accept(agent: Socket): void {
    const target = connectSocket(this.#target);
    // The sockets are destroyed, not the sessions: as with a process that is killed, open calls get no frame.
    for (const socket of [agent, target]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        agent.destroy();
        target.destroy();
      });
    }
    const runtime = connect("http://localhost", { createConnection: () => target });
    const session = performServerHandshake(agent);
    for (const end of [session, runtime]) end.on("error", () => {});
    session.on("stream", (call, headers) => void this.#serve(call, headers, runtime));
  }

  async #serve(call: ServerHttp2Stream, headers: IncomingHttpHeaders, runtime: ClientHttp2Session) {
    call.on("error", () => {});
    const method = (headers[":path"] ?? "").replace(/^.*\//, "");
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const request: Buffer[] = [];
    call.on("data", (chunk: Buffer) => void request.push(chunk));
    // All calls of the CRI have one request.
    await once(call, "end").catch(() => {});
    if (call.destroyed) return;
    const body = Buffer.concat(request);
    this.onCall?.(method, body);
    const effect = this.#take(method, body);
    if (effect?.kind === "fail") return fail(call, effect.code);
    if (effect?.kind === "delay") await this.#pause(call, effect.ms);
    if (effect?.kind === "hang") await this.#pause(call);
    if (call.destroyed || runtime.destroyed) return;
    const forwarded = runtime.request(forwardedHeaders(headers));
    forwarded.on("error", () => call.close(constants.NGHTTP2_INTERNAL_ERROR));
    call.on("close", () => forwarded.close(constants.NGHTTP2_CANCEL));
    forwarded.end(body);
    if (effect?.kind === "fail-response") {
      forwarded.resume();
      forwarded.on("end", () => fail(call, effect.code));
    } else relay(forwarded, call, effect?.kind === "hang-response" ? () => this.#pause(call) : undefined);
  }

  #take(method: string, body: Buffer): CriFault["effect"] | undefined {
    const found = this.#faults.find(
      ({ fault }) =>
        fault.method === method && (fault.contains === undefined || body.includes(fault.contains)),
    );
    if (!found) return undefined;
    found.left--;
    if (found.left <= 0) this.#faults = this.#faults.filter((other) => other !== found);
    return found.fault.effect;
  }

  /** Waits until that time has passed, `release` is called, or the call ends. */
  #pause(call: ServerHttp2Stream, ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const resume = () => {
        this.#held.delete(resume);
        clearTimeout(timer);
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(resume, ms);
      this.#held.add(resume);
      call.once("close", resume);
    });
  }
}

/** Responses begin after the pause; gRPC states the result of a call in the trailers. */
function relay(from: ClientHttp2Stream, to: ServerHttp2Stream, pause = async () => {}): void {
  from.on("response", async (headers, flags) => {
    const { ":status": status, ...rest } = headers;
    const respond = { ":status": status, ...rest };
    let trailers: IncomingHttpHeaders = {};
    from.on("trailers", (found) => {
      trailers = found;
    });
    await pause();
    if (to.destroyed) return;
    // A response without messages has its trailers in the headers.
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) return void to.respond(respond, { endStream: true });
    to.respond(respond, { waitForTrailers: true });
    to.on("wantTrailers", () => to.sendTrailers(trailers));
    from.pipe(to);
  });
}

function forwardedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return { ...headers, ":authority": "localhost", ":scheme": "http" };
}

function fail(call: ServerHttp2Stream, code: number): void {
  if (call.destroyed) return;
  const headers = { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": String(code) };
  call.respond({ ...headers, "grpc-message": "injected failure" }, { endStream: true });
}
