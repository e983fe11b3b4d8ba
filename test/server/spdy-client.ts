import { request } from "node:https";
import type { Socket } from "node:net";
import { SpdyConnection } from "../../src/kubelet/server/streaming/spdy/connection.ts";

/** A SPDY client, as in old kubectls. */
export function openSpdy(port: number, path: string, protocol: string): Promise<SpdyConnection> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...{ host: "127.0.0.1", port, path, method: "POST", agent: false, rejectUnauthorized: false },
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

/** One connection to a port of the pod: a pair of streams. Their data, and when they have been closed. */
export async function forwardOn(spdy: SpdyConnection, port: number, requestID: string) {
  const received = { data: "", error: "" };
  const open = async (streamType: "data" | "error") => {
    const ended = Promise.withResolvers<boolean>();
    const headers = { streamType, port: String(port), requestID };
    const stream = await spdy.open(headers, {
      data: (chunk) => {
        received[streamType] += chunk;
      },
      end: ended.resolve,
    });
    return { stream, ended: ended.promise };
  };
  const error = await open("error");
  error.stream.end();
  const data = await open("data");
  return { received, stream: data.stream, ended: Promise.all([error.ended, data.ended]) };
}
