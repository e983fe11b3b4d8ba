import type { Socket } from "node:net";
import { KubeletError } from "../../base/errors.ts";

const lineEnd = "\r\n";
const maxLine = 16_384;

/**
 * SASL EXTERNAL: the peer knows the user of the process from the socket. Resolves with the bytes that followed the
 * handshake; the socket is paused then.
 */
export function authenticate(socket: Socket, uid: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const settle = (done: () => void) => {
      socket.off("data", onData).off("error", onError).off("close", onClose).pause();
      done();
    };
    const fail = (why: string, cause?: unknown) =>
      settle(() => reject(new KubeletError("DBusAuthentication", `D-Bus authentication: ${why}`, { cause })));
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf(lineEnd);
      if (end < 0 && received.length > maxLine) return fail("the response is not a line");
      if (end < 0) return;
      const line = received.toString("latin1", 0, end);
      if (!/^OK(?: |$)/.test(line)) return fail(`user ${uid} was rejected: ${line}`);
      socket.write(`BEGIN${lineEnd}`);
      settle(() => resolve(received.subarray(end + lineEnd.length)));
    };
    const onError = (error: Error) => fail(error.message, error);
    const onClose = () => fail("the connection was closed");
    socket.on("data", onData).on("error", onError).on("close", onClose).resume();
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(uid)).toString("hex")}${lineEnd}`);
  });
}
