import { type ClientRequest, type IncomingMessage, request as startRequest } from "node:http";
import type { Socket } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import { withDeadline } from "./deadline.ts";
import { type Address, dial, dialFailure, errnoWords, hangUp, hostPort } from "./dial.ts";
import { type HttpRequest, redirectOf, urlOf } from "./http-request.ts";
import {
  failure,
  maxOutputBytes,
  type ProbeAnswer,
  type ProbeLimits,
  probeError,
  success,
  warning,
} from "./probe-answer.ts";

/** Any answer from 200 to 399 is fine; redirects are followed within the host. Each request has a connection of its own. */
export function probeHttp(request: HttpRequest, limits: ProbeLimits): Promise<ProbeAnswer> {
  const sent: HttpRequest[] = [];
  let reading = false;
  let current = request;
  const say = (message: string) => failure(`Get "${urlOf(current)}": ${message}`);
  const late = () =>
    reading
      ? // As with any other fault while reading: there was an answer, so this is no failure of the container.
        probeError(
          "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
          "failure",
        )
      : say("context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
  return withDeadline(limits, late, ({ finish }) => {
    let exchange: Exchange | undefined;
    const send = (next: HttpRequest) => {
      current = next;
      reading = false;
      sent.push(next);
      const isCurrent = () => current === next;
      try {
        exchange = new Exchange(next, {
          failed: (message) => isCurrent() && finish(say(message)),
          answered: (response) => isCurrent() && take(response),
        });
      } catch (error) {
        // It has something in it that cannot be sent.
        finish(probeError(messageOf(error)));
      }
    };
    const take = (response: IncomingMessage) => {
      const status = response.statusCode ?? 0;
      const redirect = redirectOf({ status, location: response.headers.location }, sent);
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
            response,
            (body) => finish(judge(status, body)),
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

function judge(status: number, body: string): ProbeAnswer {
  if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
  return status < 300 ? success(body) : warning(`Probe terminated redirects, Response body: ${body}`);
}

function readBody(
  response: IncomingMessage,
  done: (body: string) => void,
  failed: (message: string) => void,
): void {
  const parts: Buffer[] = [];
  let size = 0;
  const text = () => Buffer.concat(parts).subarray(0, maxOutputBytes).toString();
  response.on("data", (part: Buffer) => {
    parts.push(part);
    size += part.length;
    if (size >= maxOutputBytes) done(text());
  });
  response.once("end", () => done(text()));
  response.once("error", (error) =>
    failed(errnoOf(error) === "ECONNRESET" ? "unexpected EOF" : messageOf(error)),
  );
}

interface ExchangeEvents {
  failed: (message: string) => unknown;
  answered: (response: IncomingMessage) => unknown;
}

/** One connection, one request, one answer. */
class Exchange {
  readonly #request: ClientRequest;
  #wire: Socket | undefined;
  /** The two addresses of the connection, once there is one. */
  #ends: string | undefined;

  /** Throws if the request has something in it that cannot be sent. */
  constructor({ address, scheme, target, headers, hostHeader }: HttpRequest, events: ExchangeEvents) {
    this.#request = startRequest({
      method: "GET",
      path: target,
      headers: bytes({ host: [hostHeader ?? hostPort(address)], ...headers }),
      createConnection: () => {
        const wire = this.#dial(address);
        return scheme === "https" ? secured(wire, address.host) : wire;
      },
      maxHeaderSize: 1024 * 1024,
      // A sloppy server is no reason to restart a container.
      insecureHTTPParser: true,
    });
    this.#request.once("response", (response) => {
      // Before Node closes it politely: whoever does that first has the connection in TIME_WAIT for a minute.
      response.prependOnceListener("end", () => this.#hangUp());
      events.answered(response);
    });
    // Nobody switches protocols for a probe, so this is just another status.
    this.#request.once("upgrade", (response) => events.answered(response));
    this.#request.on("error", (error) =>
      events.failed(this.#ends ? brokenBy(error, this.#ends) : dialFailure(address, error)),
    );
    this.#request.end();
  }

  close(): void {
    this.#hangUp();
    this.#request.destroy();
  }

  #dial(address: Address): Socket {
    const wire = dial(address);
    this.#wire = wire;
    wire.once("connect", () => {
      const { localAddress = "", localPort = 0, remoteAddress = "", remotePort = 0 } = wire;
      const local = hostPort({ host: localAddress, port: localPort });
      this.#ends = `${local}->${hostPort({ host: remoteAddress, port: remotePort })}`;
    });
    return wire;
  }

  #hangUp(): void {
    if (this.#wire) hangUp(this.#wire);
  }
}

/** Node writes each character of a header as one byte; what is not ASCII is sent as UTF-8. */
function bytes(headers: Record<string, string[]>): Record<string, string | string[]> {
  const entries = Object.entries(headers).map(([name, values]): [string, string | string[]] => {
    const encoded = values.map((value) => Buffer.from(value).toString("latin1"));
    return [name, encoded.length === 1 ? (encoded[0] ?? "") : encoded];
  });
  return Object.fromEntries(entries);
}

let context: SecureContext | undefined;

/** TLS with whoever answers: a probe asks whether the server works, not who it is. */
function secured(wire: Socket, host: string): Socket {
  context ??= createSecureContext({ ciphers: "DEFAULT:@SECLEVEL=0" });
  const isName = /[a-z]/i.test(host) && !host.includes(":");
  const stream = connectTls({
    socket: wire,
    secureContext: context,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
    ...(isName && { servername: host }),
  });
  stream.on("error", () => {});
  return stream;
}

/** What went wrong on a connection that had come about; `ends` are its two addresses. */
function brokenBy(error: Error, ends: string): string {
  const code = errnoOf(error) ?? "";
  const { syscall } = error as { syscall?: string };
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    if (/wrong version number|packet length too long|http request/.test(error.message))
      return "http: server gave HTTP response to HTTPS client";
    return `tls: ${/SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1] ?? error.message}`;
  }
  if (code.startsWith("HPE_"))
    return `net/http: HTTP/1.x transport connection broken: malformed HTTP response: ${error.message}`;
  // Without a system call it was Node that noticed: the server hung up before it answered.
  if (code === "ECONNRESET" && !syscall) return "EOF";
  return syscall ? `${syscall} tcp ${ends}: ${syscall}: ${errnoWords(error)}` : error.message;
}
