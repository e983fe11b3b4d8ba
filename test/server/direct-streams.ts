import assert from "node:assert/strict";
import { test } from "node:test";
import { send, type TestServer } from "../../src/kubelet/server/fixtures.ts";
import { openWebSocket } from "../../src/kubelet/server/streaming/fake-client.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { forwardPort, openSpdy } from "./spdy-client.ts";
import type { StreamingNode } from "./streaming-node.ts";

const v5 = "v5.channel.k8s.io";
const commandQuery = (...command: readonly string[]) =>
  command.map((word) => `command=${encodeURIComponent(word)}`).join("&");

/** The node's own server, called without kubectl or an API server. */
export function directStreams(node: () => StreamingNode, server: () => TestServer): void {
  test("run returns the output of the command, or its error", async () => {
    const run = (cmd: string) =>
      send(server().port, `/run/default/web/app?cmd=${encodeURIComponent(cmd)}`, { method: "POST" });
    const good = await run("cat /etc/hostname");
    assert.equal(good.status, 200, good.body);
    assert.match(good.body, /\S/);
    const bad = await run("cat /no/such/file");
    assert.deepEqual([bad.status, /exited with 1: .*No such file/.test(bad.body)], [500, true], bad.body);
  });

  test("attach sends and receives, and leaves the container running", async () => {
    const path = "/attach/default/web/echo?input=1&output=1&error=1";
    const first = await openWebSocket(server().port, path, v5);
    first.send(0, "a\n");
    await waitFor(() => assert.equal(first.text(1), "got a\n"));
    first.socket.destroy();
    const second = await openWebSocket(server().port, path, v5);
    await waitFor(() => {
      second.send(0, "b\n");
      assert.match(second.text(1), /^got b$/m);
    });
    second.socket.destroy();
  });

  test("a failed connection ends its own streams; others of the same kubectl continue", async () => {
    const spdy = await openSpdy(server().port, "/portForward/default/web", "portforward.k8s.io");
    const open = await forwardPort(spdy, 8080, "0");
    open.stream.write(Buffer.from("one "));
    await waitFor(() => assert.equal(open.received.data, "one "));
    const refused = await forwardPort(spdy, 8099, "1");
    await refused.closed;
    assert.match(refused.received.error, /connection refused/);
    const reset = await forwardPort(spdy, 8082, "2");
    reset.stream.write(Buffer.from("?"));
    await reset.closed;
    assert.match(reset.received.error, /connection reset by peer/);
    const served = await forwardPort(spdy, 8081, "3");
    served.stream.write(Buffer.from("?"));
    await served.closed;
    assert.deepEqual([served.received.data.length, served.received.error], [1 << 20, ""]);
    open.stream.write(Buffer.from("two"));
    await waitFor(() => assert.equal(open.received.data, "one two"));
    spdy.close();
  });

  test("hundreds of thousands of lines arrive complete and in order, even for a slow reader", async (t) => {
    const lines = 300_000;
    const began = Date.now();
    const client = await openWebSocket(
      server().port,
      `/exec/default/web/app?output=1&${commandQuery("seq", String(lines))}`,
      v5,
    );
    const slow = setInterval(() => {
      client.socket.pause();
      setImmediate(() => client.socket.resume());
    }, 5);
    await client.closed;
    clearInterval(slow);
    t.diagnostic(`${Math.round((lines / (Date.now() - began)) * 1000)} lines/s`);
    const received = client.text(1).split("\n");
    assert.equal(received.length, lines + 1);
    assert.ok(received.slice(0, lines).every((line, i) => line === String(i + 1)));
  });

  // parity: field streamingConnectionIdleTimeout
  test("only connections that are idle for streamingConnectionIdleTimeout are closed", async () => {
    const { port } = await node().serve({ idleMs: 2000 });
    const exec = (script: string) =>
      openWebSocket(port, `/exec/default/web/app?output=1&${commandQuery("sh", "-c", script)}`, v5);
    const forwarded = await openSpdy(port, "/portForward/default/web", "portforward.k8s.io");
    const tunnel = await openWebSocket(port, "/portForward/default/web", "SPDY/3.1+portforward.k8s.io");
    const quiet = await exec("sleep 1000");
    const active = await exec("for i in $(seq 50); do echo $i; sleep 0.1; done");
    await Promise.all([quiet.closed, tunnel.closed, forwarded.closed]);
    assert.match(quiet.text(3), /idle timeout/);
    await active.closed;
    assert.deepEqual([active.text(1).split("\n").length, JSON.parse(active.text(3)).status], [51, "Success"]);
  });

  test("a connection that breaks in the middle of a message ends that stream only", async () => {
    const open = () =>
      openWebSocket(server().port, `/exec/default/web/app?input=1&output=1&${commandQuery("cat")}`, v5);
    const [broken, intact] = await Promise.all([open(), open()]);
    broken.raw(Buffer.from([0x82, 0xfe, 0x10, 0x00, 1, 2, 3, 4, 0]));
    broken.socket.destroy();
    intact.send(0, "fine");
    await waitFor(() => assert.equal(intact.text(1), "fine"));
    intact.send(255, Buffer.from([0]));
    await intact.closed;
    assert.match(intact.text(3), /"Success"/);
  });
}
