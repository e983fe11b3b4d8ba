import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { TestServer } from "../../src/kubelet/server/fixtures.ts";
import { openWebSocket } from "../../src/kubelet/server/streaming/fake-client.ts";
import { echoes } from "../kubectl/forwarded.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { directStreams } from "./direct-streams.ts";
import { apiRoutes, kubeconfigFor } from "./small-api.ts";
import { StreamingNode } from "./streaming-node.ts";

const kubectls = ["1.32", "1.36"].map((version) => ({
  version,
  path: fileURLToPath(new URL(`../../.cache/kubectl-${version}/usr/bin/kubectl`, import.meta.url)),
}));

describeOnContainerd("streams of a real runtime", (version) => {
  let node: StreamingNode;
  let server: TestServer;
  let dir: string;

  before(async () => {
    node = await StreamingNode.start(version);
    server = await node.serve({ more: (routes) => apiRoutes(node.pod, routes) });
    dir = await mkdtemp(join(tmpdir(), "streams-"));
    await writeFile(join(dir, "config"), kubeconfigFor(server.port));
  });

  after(async () => {
    await node?.stop();
    if (dir) await rm(dir, { recursive: true, force: true });
  });

  const exec = (command: string[], streams: string) => {
    const query = command.map((word) => `command=${encodeURIComponent(word)}`).join("&");
    return openWebSocket(server.port, `/exec/default/web/app?${streams}&${query}`, "v5.channel.k8s.io");
  };

  test("exec returns stdout, stderr and the exit code", async () => {
    const opened = await exec(["sh", "-c", "echo out; echo err >&2; exit 7"], "output=1&error=1");
    await opened.closed;
    assert.deepEqual([opened.text(1), opened.text(2)], ["out\n", "err\n"]);
    assert.match(opened.text(3), /"reason":"NonZeroExitCode".*"message":"7"/);
  });

  test("10 MiB of stdin are echoed completely, and stdin is closed", async () => {
    const opened = await exec(["cat"], "input=1&output=1");
    const sent = randomBytes(10 * 1024 * 1024);
    for (let at = 0; at < sent.length; at += 100_000)
      if (!opened.send(0, sent.subarray(at, at + 100_000)))
        await new Promise((resolve) => opened.socket.once("drain", resolve));
    opened.send(255, Buffer.from([0]));
    await opened.closed;
    assert.equal(sum(Buffer.concat(opened.received.get(1) ?? [])), sum(sent));
    assert.match(opened.text(3), /"Success"/);
  });

  test("a TTY has the requested size", async () => {
    const script = 'until [ "$(stty size)" = "33 91" ]; do sleep 0.05; done; echo fits';
    const opened = await exec(["sh", "-c", script], "input=1&output=1&tty=1");
    opened.send(4, '{"Width":91,"Height":33}');
    await opened.closed;
    assert.match(opened.text(1), /fits/);
  });

  directStreams(
    () => node,
    () => server,
  );

  for (const { version: known, path } of kubectls)
    for (const by of ["WebSocket", "SPDY"]) {
      const skip = existsSync(path) ? false : "no kubectl";
      const env = {
        PATH: process.env.PATH,
        HOME: tmpdir(),
        KUBECTL_REMOTE_COMMAND_WEBSOCKETS: String(by === "WebSocket"),
        KUBECTL_PORT_FORWARD_WEBSOCKETS: String(by === "WebSocket"),
      };
      const kubectl = (...args: readonly string[]) =>
        spawn(path, ["--kubeconfig", join(dir, "config"), ...args], { env });

      test(`kubectl ${known} exec over ${by} passes stdin, output and the exit code`, { skip }, async () => {
        const child = kubectl(
          "exec",
          "-i",
          "web",
          "-c",
          "app",
          "--",
          "sh",
          "-c",
          "cat; echo err >&2; exit 3",
        );
        child.stdin.end("through and back\n");
        const { code, out, err } = await finished(child);
        assert.equal(out, "through and back\n");
        assert.match(err, /^err\n/);
        assert.equal(code, 3);
      });

      test(`kubectl ${known} port-forward over ${by} serves 100 concurrent connections with 256 KiB each way`, {
        skip,
      }, async () => {
        const child = kubectl("port-forward", "web", ":8080");
        const port = await forwardedPort(child);
        await Promise.all([...Array(100).keys()].map((seed) => echoes(port, seed, 256 * 1024)));
        child.kill();
        await finished(child);
      });
    }
});

function sum(data: Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}

function finished(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let out = "";
  let err = "";
  child.stdout?.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    err += chunk;
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err })));
}

function forwardedPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer) => {
      text += chunk;
      const port = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port) resolve(Number(port));
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.on("close", () => reject(new Error(text)));
  });
}
