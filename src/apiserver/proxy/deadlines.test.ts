import assert from "node:assert/strict";
import { get } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { aNode, anApi, aPod, authority, fakeKubelet, RawClient, upgradeText } from "./fixtures.ts";

describe("deadlines", () => {
  test("a kubelet that accepts the connection and sends nothing times out after 30 s", async (t) => {
    const clock = new FakeClock();
    const sockets: Socket[] = [];
    const silent = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
    t.after(() => {
      silent.close();
      for (const socket of sockets) socket.destroy();
    });
    const connected = new Promise<void>((resolve) =>
      silent.on("connection", (socket) => {
        sockets.push(socket);
        resolve();
      }),
    );
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as AddressInfo;
    const api = await anApi(t, { objects: { pods: aPod(), nodes: aNode(port) }, clock });
    const response = new Promise<string>((resolve, reject) =>
      get({ port: api.port, path: "/log/p", agent: false }, (response) => resolve(text(response))).on(
        "error",
        reject,
      ),
    );
    await connected;
    await clock.advance(30_000);
    assert.match(
      JSON.parse(await response).message,
      new RegExp(`: dial tcp 127.0.0.1:${port}: i/o timeout$`),
    );
  });

  test("an error body that does not end is abandoned after 10 s", async (t) => {
    const clock = new FakeClock();
    const signer = authority();
    const kubelet = await fakeKubelet(t, signer);
    kubelet.upgrade = (_, socket) => socket.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno");
    const objects = { pods: aPod(), nodes: aNode(kubelet.port) };
    const api = await anApi(t, { objects, clock, credentials: () => ({ ca: signer.ca }) });
    const done = api.nextDone();
    const client = new RawClient(t, api.port, upgradeText("/exec/p"));
    await client.until(/\r\n\r\nno$/);
    await clock.advance(10_000);
    await Promise.all([client.ended, done]);
    assert.equal(clock.pending, 0);
  });
});
