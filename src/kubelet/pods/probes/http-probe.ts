import { type IncomingMessage, request as startRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import "../../../lib/base/pushed-streams.ts";
import {
  type AttemptResult,
  failure,
  maxOutputBytes,
  type ProbeLimits,
  probeError,
  success,
  warning,
} from "./attempt-result.ts";
import { withDeadline } from "./deadline.ts";
import { type Address, closeConnection, dial, dialError, errnoMessage, hostPort } from "./dial.ts";
import { type HttpRequest, redirectOf, urlOf } from "./http-request.ts";

/** Succeeds with any status from 200 to 399; follows redirects within the host. Each request opens a connection. */
export function probeHttp(request: HttpRequest, limits: ProbeLimits): Promise<AttemptResult> {
  const sent: HttpRequest[] = [];
  let reading = false;
  let current = request;
  const failedGet = (message: string) => failure(`Get "${urlOf(current)}": ${message}`);
  const timedOut = () =>
    reading
      ? // All errors while the body is read are reported like this: there was a response, so the container did not fail.
        probeError(
          "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
          "failure",
        )
      : failedGet("context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
  return withDeadline(limits, timedOut, ({ finish }) => {
    let exchange: Exchange | undefined;
    const send = (next: HttpRequest) => {
      current = next;
      reading = false;
      sent.push(next);
      const isCurrent = () => current === next;
      exchange = new Exchange(next, {
        failed: (message) => isCurrent() && finish(failedGet(message)),
        responded: (response) => isCurrent() && handle(response),
        // The request contains a value that cannot be sent.
        invalid: (message) => isCurrent() && finish(probeError(message)),
      });
    };
    const handle = ({ status, location, body }: ProbeResponse) => {
      const redirect = redirectOf({ status, location }, sent);
      switch (redirect.kind) {
        case "follow":
          exchange?.close();
          return send(redirect.request);
        case "bad":
          return finish(failure(`Get "${redirect.url}": ${redirect.message}`));
        case "none":
        case "elsewhere":
          reading = true;
          return readBody(
            body,
            (text) => finish(resultOf(status, text)),
            (message) => finish(probeError(message, "failure")),
          );
        default:
          return redirect satisfies never;
      }
    };
    send(request);
    return () => exchange?.close();
  });
}

function resultOf(status: number, body: string): AttemptResult {
  if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
  return status < 300 ? success(body) : warning(`Probe terminated redirects, Response body: ${body}`);
}

function readBody(body: Readable, done: (body: string) => void, failed: (message: string) => void): void {
  const parts: Buffer[] = [];
  let size = 0;
  const text = () => Buffer.concat(parts).subarray(0, maxOutputBytes).toString();
  body.on("data", (part: Buffer) => {
    parts.push(part);
    size += part.length;
    if (size >= maxOutputBytes) done(text());
  });
  body.once("end", () => done(text()));
  body.once("error", (error) =>
    failed(errnoOf(error) === "ECONNRESET" ? "unexpected EOF" : messageOf(error)),
  );
}

interface ProbeResponse {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: Readable;
}

interface ExchangeEvents {
  failed: (message: string) => unknown;
  responded: (response: ProbeResponse) => unknown;
  invalid: (message: string) => unknown;
}

/** Headers of a connection, which HTTP/2 does not have. */
const connectionHeaders = new Set([
  ...["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"],
]);

/** One connection, one request, one response. */
class Exchange {
  readonly #request: HttpRequest;
  readonly #events: ExchangeEvents;
  #socket: Socket | undefined;
  /** Local and remote address of the connection, once it is established. */
  #endpoints: string | undefined;
  /** Ends the request. */
  #destroy: () => void = () => {};

  constructor(request: HttpRequest, events: ExchangeEvents) {
    this.#request = request;
    this.#events = events;
    const { address, scheme } = request;
    if (scheme !== "https") {
      this.#start(() => this.#overHttp1(() => this.#dial(address)));
      return;
    }
    const socket = overTls(this.#dial(address), address.host);
    this.#destroy = () => socket.destroy();
    const failed = (error: Error) => this.#failed(error);
    const ended = () => this.#failed(Object.assign(new Error("EOF"), { code: "ECONNRESET" }));
    socket.once("error", failed);
    socket.once("close", ended);
    socket.once("secureConnect", () => {
      socket.off("error", failed);
      socket.off("close", ended);
      // The server has chosen, as Go's does: HTTP/2 if it has it.
      if (socket.alpnProtocol === "h2") this.#start(() => this.#overHttp2(socket));
      else this.#start(() => this.#overHttp1(() => socket));
    });
  }

  #start(send: () => void): void {
    try {
      send();
    } catch (error) {
      this.close();
      this.#events.invalid(messageOf(error));
    }
  }

  #failed(error: Error): void {
    const { address } = this.#request;
    this.#events.failed(
      this.#endpoints ? connectionError(error, this.#endpoints) : dialError(address, error),
    );
  }

  #overHttp1(createConnection: () => Socket): void {
    const { address, target, headers, hostHeader } = this.#request;
    const request = startRequest({
      method: "GET",
      path: target,
      headers: bytes({ host: [hostHeader ?? hostPort(address)], ...headers }),
      createConnection,
      maxHeaderSize: 1024 * 1024,
      // A server that violates HTTP is no reason to restart a container.
      insecureHTTPParser: true,
    });
    this.#destroy = () => request.destroy();
    const responded = (body: IncomingMessage) =>
      this.#events.responded({ status: body.statusCode ?? 0, location: body.headers.location, body });
    request.once("response", (response) => {
      // Before Node.js closes it gracefully: the side that closes first has the connection in TIME_WAIT for a minute.
      response.prependOnceListener("end", () => this.#closeConnection());
      responded(response);
    });
    // A probe never switches protocols, so this is just another status.
    request.once("upgrade", responded);
    request.on("error", (error) => this.#failed(error));
    request.end();
  }

  #overHttp2(socket: TLSSocket): void {
    const { address, target, headers, hostHeader } = this.#request;
    const authority = hostHeader ?? hostPort(address);
    const session = connectHttp2(`https://${hostPort(address)}`, { createConnection: () => socket });
    this.#destroy = () => session.destroy();
    session.on("error", (error) => this.#failed(error));
    const own = Object.entries(headers).filter(([name]) => !connectionHeaders.has(name));
    const stream = session.request({
      ...bytes(Object.fromEntries(own)),
      ":method": "GET",
      ":scheme": "https",
      ":authority": authority,
      ":path": target,
    });
    stream.on("error", (error) => this.#failed(error));
    stream.once("response", ({ ":status": status = 0, location }) => {
      stream.prependOnceListener("end", () => this.close());
      this.#events.responded({ status, location, body: stream });
    });
    stream.end();
  }

  close(): void {
    this.#closeConnection();
    this.#destroy();
  }

  #dial(address: Address): Socket {
    const socket = dial(address);
    this.#socket = socket;
    socket.once("connect", () => {
      const { localAddress = "", localPort = 0, remoteAddress = "", remotePort = 0 } = socket;
      const local = hostPort({ host: localAddress, port: localPort });
      this.#endpoints = `${local}->${hostPort({ host: remoteAddress, port: remotePort })}`;
    });
    return socket;
  }

  #closeConnection(): void {
    if (this.#socket) closeConnection(this.#socket);
  }
}

/** Node.js writes each character of a header as one byte; what is not ASCII is sent as UTF-8. */
function bytes(headers: Record<string, string[]>): Record<string, string | string[]> {
  const entries = Object.entries(headers).map(([name, values]): [string, string | string[]] => {
    const encoded = values.map((value) => Buffer.from(value).toString("latin1"));
    return [name, encoded.length === 1 ? (encoded[0] ?? "") : encoded];
  });
  return Object.fromEntries(entries);
}

let context: SecureContext | undefined;

/** TLS with any certificate: a probe checks whether the server works, not its identity. */
function overTls(socket: Socket, host: string): TLSSocket {
  context ??= createSecureContext({ ciphers: "DEFAULT:@SECLEVEL=0" });
  const isName = /[a-z]/i.test(host) && !host.includes(":");
  const stream = connectTls({
    socket: socket,
    secureContext: context,
    rejectUnauthorized: false,
    ALPNProtocols: process.env.DISABLE_HTTP2 ? ["http/1.1"] : ["h2", "http/1.1"],
    ...(isName && { servername: host }),
  });
  stream.on("error", () => {});
  return stream;
}

/** The error of an established connection; `endpoints` are its two addresses. */
function connectionError(error: Error, endpoints: string): string {
  const code = errnoOf(error) ?? "";
  const { syscall } = error as { syscall?: string };
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    if (/wrong version number|packet length too long|http request/.test(error.message))
      return "http: server gave HTTP response to HTTPS client";
    return `tls: ${/SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1] ?? error.message}`;
  }
  if (code.startsWith("HPE_"))
    return `net/http: HTTP/1.x transport connection broken: malformed HTTP response: ${error.message}`;
  // Errors that Node.js itself detects name no system call: the server closed the connection before it responded.
  if (code === "ECONNRESET" && !syscall) return "EOF";
  return syscall ? `${syscall} tcp ${endpoints}: ${syscall}: ${errnoMessage(error)}` : error.message;
}
