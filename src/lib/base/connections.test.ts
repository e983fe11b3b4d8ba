import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { Connections, limitConnections } from "./connections.ts";

describe("connection limit", () => {
  test("at the limit the longest-idle connection is closed for a new one", () => {
    const connections = new Connections(3);
    const [a, b, c, d] = [new Socket(), new Socket(), new Socket(), new Socket()] as const;
    for (const socket of [a, b, c]) connections.add(socket);
    const idle = connections.busy(a);
    assert.equal(connections.add(d), true);
    assert.deepEqual(
      [a, b, c, d].map((socket) => socket.destroyed),
      [false, true, false, false],
    );
    idle();
    assert.equal(connections.size, 3);
  });

  test("no connection with a request in progress is closed: the new one is rejected", () => {
    const connections = new Connections(1);
    const [a, b] = [new Socket(), new Socket()] as const;
    connections.add(a);
    const ends = [connections.busy(a), connections.busy(a)];
    assert.equal(connections.add(b), false);
    assert.ok(b.destroyed && !a.destroyed);
    ends[0]?.();
    ends[0]?.();
    assert.equal(connections.add(new Socket()), false);
    ends[1]?.();
    assert.equal(connections.add(new Socket()), true);
    assert.ok(a.destroyed);
  });

  test("if busy connections may be closed, the longest of those that are not exempt is", () => {
    const connections = new Connections(2, { closesBusy: true });
    const [exempt, first, second, third] = [new Socket(), new Socket(), new Socket(), new Socket()] as const;
    for (const socket of [exempt, first, second]) {
      connections.add(socket);
      connections.busy(socket);
      if (socket === exempt) connections.exempt(socket);
    }
    assert.equal(connections.add(third), true);
    assert.deepEqual(
      [exempt, first, second, third].map((socket) => socket.destroyed),
      [false, true, false, false],
    );
  });

  test("a busy connection that is exempt does not count until its last stream has ended", () => {
    const connections = new Connections(1);
    const [stream, other, third] = [new Socket(), new Socket(), new Socket()] as const;
    connections.add(stream);
    const idle = connections.busy(stream);
    const ends = [connections.exempt(stream), connections.exempt(stream)];
    assert.equal(connections.add(other), true);
    connections.busy(other);
    assert.equal(connections.add(third), false);
    ends[0]?.();
    ends[0]?.();
    connections.remove(other);
    assert.equal(connections.add(new Socket()), true);
    ends[1]?.();
    assert.equal(connections.size, 2);
    assert.ok(!stream.destroyed);
    idle();
  });

  test("connections of others neither use the reserved part nor close a preferred one", () => {
    const connections = new Connections(4, { reserved: 2 });
    const [kept, ...others] = Array.from({ length: 6 }, () => new Socket()) as [Socket, ...Socket[]];
    connections.add(kept);
    for (const [i, socket] of others.entries()) {
      assert.equal(connections.add(socket, false), i < 4);
      if (i === 2) {
        // The third one replaced the first; after a handshake and with a request it is still one of theirs.
        assert.ok(others[0]?.destroyed);
        const secure = new Socket();
        connections.replace(socket, secure);
        connections.busy(secure);
      }
      if (i === 3) connections.busy(socket);
    }
    assert.ok(!kept.destroyed);
    const preferred = [new Socket(), new Socket()] as const;
    for (const socket of preferred) assert.equal(connections.add(socket), true);
    // The preferred connection that was idle for the longest time was closed.
    assert.deepEqual([kept.destroyed, preferred[0].destroyed], [true, false]);
  });

  test("a connection is counted once after its TLS handshake", () => {
    const connections = new Connections(2);
    const [tcpSocket, tlsSocket] = [new Socket(), new Socket()] as const;
    connections.add(tcpSocket);
    connections.replace(tcpSocket, tlsSocket);
    connections.remove(tcpSocket);
    assert.deepEqual(connections.all(), [tlsSocket]);
  });
});

test("requests that never end keep no others from a server that closes busy connections", async (t) => {
  const server = createServer((request, response) => {
    if (request.url === "/") response.end("ok");
  });
  limitConnections(server, 2, { closesBusy: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  for (let i = 0; i < 2; i++) {
    get({ port, path: "/wait", agent: false }).on("error", () => {});
    await once(server, "request");
  }
  const [response] = await once(get({ port, agent: false }), "response");
  assert.equal(await text(response), "ok");
});
