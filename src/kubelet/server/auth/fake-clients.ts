import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { TestPair } from "../fixtures.ts";

export type Outcome = number | "closed";
export interface KeepAliveConnection {
  /** One request on this connection. */
  get(path?: string): Promise<Outcome>;
  readonly closed: Promise<unknown>;
  end(): void;
}

/** A real connection after its handshake, without a request. */
export async function http1(port: number, pair: TestPair, socket?: TLSSocket): Promise<KeepAliveConnection> {
  const link = socket ?? connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...pair });
  link.on("error", () => {});
  const closed = new Promise((resolve) => link.once("close", resolve));
  if (!socket) await once(link, "secureConnect");
  let text = "";
  link.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
  });
  const respond = async () => {
    for (;;) {
      const [, status, head = "", length] =
        /^HTTP\/1.1 (\d+)((?:.|\r\n)*?\r\ncontent-length: (\d+)(?:.|\r\n)*?\r\n\r\n)/i.exec(text) ?? [];
      const size = head.length + 12 + Number(length);
      if (status && text.length >= size) {
        text = text.slice(size);
        return Number(status);
      }
      const more = once(link, "data");
      if ((await Promise.race([more, closed.then(() => "closed")])) === "closed") return "closed";
    }
  };
  return {
    closed,
    get: async (path = "/who") => {
      link.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      return await respond();
    },
    end: () => link.destroy(),
  };
}

export async function http2(port: number, pair: TestPair): Promise<KeepAliveConnection> {
  const session: ClientHttp2Session = connectHttp2(`https://127.0.0.1:${port}`, {
    ...pair,
    rejectUnauthorized: false,
  });
  session.on("error", () => {});
  const closed = new Promise((resolve) => session.once("close", resolve));
  // The server's SETTINGS arrive after its handshake.
  await once(session, "remoteSettings");
  return {
    closed,
    get: (path = "/who") =>
      new Promise((resolve) => {
        if (session.closed || session.destroyed) return resolve("closed");
        const stream = session.request({ ":path": path });
        let status: Outcome = "closed";
        stream.on("response", (headers) => {
          status = Number(headers[":status"]);
        });
        stream.on("error", () => {});
        stream.on("close", () => resolve(status));
        stream.resume();
      }),
    end: () => session.destroy(),
  };
}
