import { request } from "node:https";
import type { Socket } from "node:net";
import { SpdyConnection } from "../../src/kubelet/server/streaming/spdy/connection.ts";

/** A SPDY client, as in older versions of kubectl. */
export function openSpdy(port: number, path: string, protocol: string): Promise<SpdyConnection> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method: "POST",
      agent: false,
      rejectUnauthorized: false,
      headers: { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": protocol },
    });
    outgoing.on("response", ({ statusCode }) => reject(new Error(String(statusCode))));
    outgoing.on("error", reject);
    outgoing.on("upgrade", (_, socket: Socket, head) => {
      const spdy = new SpdyConnection(socket);
      spdy.start(head);
      resolve(spdy);
    });
    outgoing.end();
  });
}

/** Opens a connection to a port of the pod, which is a pair of streams. `closed` resolves when both have closed. */
export async function forwardPort(spdy: SpdyConnection, port: number, requestID: string) {
  const received = { data: "", error: "" };
  const open = async (streamType: "data" | "error") => {
    const closed = Promise.withResolvers<boolean>();
    const headers = { streamType, port: String(port), requestID };
    const stream = await spdy.open(headers, {
      data: (chunk) => {
        received[streamType] += chunk;
      },
      end: closed.resolve,
    });
    return { stream, closed: closed.promise };
  };
  const error = await open("error");
  error.stream.end();
  const data = await open("data");
  return { received, stream: data.stream, closed: Promise.all([error.closed, data.closed]) };
}
