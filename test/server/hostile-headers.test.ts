import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { send } from "../../src/kubelet/server/fixtures.ts";
import { GuardedNode } from "./guarded-node.ts";

/** Headers that an API server passes on for clients that may only exec into one pod, or read logs of the node. */
describe("a header with many spaces", () => {
  const spaces = `a${" ".repeat(300_000)}b`;
  let node: GuardedNode;
  let stop: () => Promise<void>;
  let baselineMs = 0;
  const logFile =
    readdirSync("/var/log", { withFileTypes: true }).find((entry) => entry.isFile())?.name ?? "";

  before(async () => {
    ({ node, stop } = await GuardedNode.start());
    for (let i = 0; i < 5; i++) baselineMs = Math.max(baselineMs, await node.timeValidRequest());
  });
  after(() => stop?.());

  const sent: [string, string, Record<string, string>][] = [
    [
      "exec",
      "/exec/default/POD/app?command=x&output=1",
      { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": spaces },
    ],
    [
      "port forwarding",
      "/portForward/default/POD",
      { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": spaces },
    ],
    ["logs of the node", "/logs/FILE", { range: `bytes=${spaces.slice(1)}` }],
  ];
  for (const [what, path, headers] of sent)
    test(`of a request for ${what} does not block other clients`, async () => {
      const target = path.replace("POD", node.pod).replace("FILE", logFile);
      const attack = send(node.port, target, { ...node.admin, headers }).catch((error: Error) => error);
      let slowest = 0;
      for (let i = 0; i < 5; i++) slowest = Math.max(slowest, await node.timeValidRequest());
      assert.ok(slowest < 50 * baselineMs, `${slowest} ms, ${baselineMs} ms when idle`);
      await attack;
      node.assertHealthy();
    });
});
