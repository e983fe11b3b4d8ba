import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type IncomingHttpHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { messageOf } from "../../../lib/base/errors.ts";
import "../../../lib/base/pushed-streams.ts";
import { formatDuration } from "../../../lib/config/duration.ts";
import {
  type AttemptResult,
  failure,
  maxOutputBytes,
  type ProbeLimits,
  success,
  userAgent,
} from "./attempt-result.ts";
import { withDeadline } from "./deadline.ts";
import { type Address, closeConnection, dial, hostPort } from "./dial.ts";
import { grpcCodeName } from "./grpc-code.ts";
import { healthRequest, healthStatus } from "./health-message.ts";

export interface GrpcTarget extends Address {
  service: string;
}

/** A refused connection is retried until the timeout: the server may be about to listen. */
const reconnectMs = 1000;

/**
 * Calls grpc.health.v1.Health/Check. Over node:http2 and not with a gRPC client: one call on one connection needs no
 * channel, and the probe closes the socket itself.
 */
export function probeGrpc(target: GrpcTarget, limits: ProbeLimits): Promise<AttemptResult> {
  const within = formatDuration(limits.timeoutMs);
  let connected = false;
  const timedOut = () =>
    connected
      ? failure(`timeout: health rpc did not complete within ${within}`)
      : failure(
          `timeout: failed to connect service "${hostPort(target)}" within ${within}: context deadline exceeded`,
        );
  return withDeadline(limits, timedOut, ({ finish }) => {
    let ended = false;
    let drop = () => {};
    const attempt = () => {
      const call = new HealthCall(target, {
        connected: () => {
          connected = true;
        },
        responded: finish,
        lost: (error) => {
          if (ended) return;
          drop();
          if (connected) return finish(rpcFailure("Unavailable", messageOf(error)));
          drop = limits.clock.after(reconnectMs, attempt);
        },
      });
      drop = () => call.close();
    };
    attempt();
    return () => {
      ended = true;
      drop();
    };
  });
}

function rpcFailure(code: string, description: string): AttemptResult {
  return failure(`error: health rpc probe failed: rpc error: code = ${code} desc = ${description}`);
}

interface CallEvents {
  /** The server speaks HTTP/2. */
  connected(): void;
  responded(result: AttemptResult): void;
  lost(error: unknown): void;
}

class HealthCall {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;

  constructor(target: GrpcTarget, events: CallEvents) {
    const socket = dial(target);
    this.#socket = socket;
    this.#session = connectHttp2(`http://${hostPort(target)}`, { createConnection: () => socket });
    let isLost = false;
    // Reported by up to three events, and by more while the session is being closed.
    const lost = (error: unknown) => {
      if (isLost) return;
      isLost = true;
      events.lost(error);
    };
    this.#session.on("error", lost);
    this.#session.once("close", () => lost(new Error("connection closed")));
    this.#session.once("remoteSettings", () => {
      events.connected();
      const stream = this.#session.request({
        ":method": "POST",
        ":scheme": "http",
        ":path": "/grpc.health.v1.Health/Check",
        "content-type": "application/grpc",
        "user-agent": userAgent,
        te: "trailers",
      });
      stream.on("error", lost);
      readResponse(stream, events.responded);
      stream.end(healthRequest(target.service));
    });
  }

  close(): void {
    closeConnection(this.#socket);
    this.#session.destroy();
  }
}

function readResponse(stream: ClientHttp2Stream, responded: (result: AttemptResult) => void): void {
  const parts: Buffer[] = [];
  let size = 0;
  let fields: IncomingHttpHeaders & { ":status"?: number } = {};
  stream.once("response", (headers) => {
    fields = { ...headers };
  });
  stream.once("trailers", (trailers) => {
    fields = { ...fields, ...trailers };
  });
  stream.on("data", (part: Buffer) => {
    size += part.length;
    if (size <= maxOutputBytes) parts.push(part);
  });
  // Has no effect after an error, which was reported earlier.
  stream.once("close", () => responded(resultOf(fields, Buffer.concat(parts))));
}

function resultOf(fields: IncomingHttpHeaders & { ":status"?: number }, body: Buffer): AttemptResult {
  const status = fields["grpc-status"];
  if (status === undefined && (fields[":status"] ?? 200) === 200)
    return rpcFailure("Internal", "server closed the stream without sending trailers");
  if (status === undefined)
    return rpcFailure(
      "Unknown",
      `unexpected HTTP status code received from server: ${fields[":status"] ?? 0}`,
    );
  const code = grpcCodeName(Number(status));
  const description = decode(String(fields["grpc-message"] ?? ""));
  if (code === "Unimplemented")
    return failure(
      `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${description}`,
    );
  if (code !== "OK") return rpcFailure(code, description);
  try {
    const serving = healthStatus(body);
    return serving === "SERVING"
      ? success("service healthy")
      : failure(`service unhealthy (responded with "${serving}")`);
  } catch (error) {
    return rpcFailure("Internal", messageOf(error));
  }
}

/** gRPC sends messages percent-encoded; others are returned unchanged. */
function decode(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
