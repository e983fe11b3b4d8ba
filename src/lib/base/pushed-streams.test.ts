import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import "./pushed-streams.ts";

test("a stream that a server pushes is refused, and its error ends nothing", {
  timeout: 20_000,
}, async (t) => {
  const refused = Promise.withResolvers<number | undefined>();
  const server = createServer();
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.pushStream({ ":path": "/pushed" }, (_, pushed) => {
      pushed.on("error", () => {});
      pushed.once("close", () => {
        refused.resolve(pushed.rstCode);
        // The connection fails before the client has refused the next one.
        stream.pushStream({ ":path": "/last" }, (_, last) => last.on("error", () => {}).respond());
        stream.session?.goaway(constants.NGHTTP2_INTERNAL_ERROR);
      });
      pushed.respond();
    });
  });
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => session.destroy());
  const failed = Promise.withResolvers<Error>();
  session.on("error", failed.resolve);
  session.request({ ":path": "/" }).on("error", () => {});
  assert.equal(await refused.promise, constants.NGHTTP2_REFUSED_STREAM);
  assert.match((await failed.promise).message, /Session closed with error code 2/);
});
