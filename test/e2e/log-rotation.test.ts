import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, startTestNode, type TestNode } from "../node/test-node.ts";
import { podsOf } from "./agent-pods.ts";
import { AgentProcess } from "./agent-process.ts";
import { podManifest, writeManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

/** Prints numbers, some kilobytes per second, and exits on SIGTERM. */
const printsNumbers = [
  "sh",
  "-c",
  "trap 'exit 0' TERM; i=0; while true; do n=0; while [ $n -lt 100 ]; do i=$((i+1)); n=$((n+1)); echo $i; done; sleep 0.3 & wait; done",
];

describeOnContainerd("log rotation", (version: ContainerdVersion) => {
  let node: TestNode;
  let agent: AgentProcess;

  before(async () => {
    node = await startTestNode({ containerd: version });
    agent = await AgentProcess.create(node, {
      containerLogMaxSize: "8Ki",
      containerLogMaxFiles: 3,
      containerLogMonitorInterval: "3s",
    });
    agent.start();
    await waitFor(async () => assert.ok(await agent.pods()));
  });

  after(() => agent?.destroy());

  function logDir(): string {
    const pod = readdirSync(node.logDir).find((name) => name.includes("_chatty-"));
    assert.ok(pod, "there are no logs yet");
    return join(node.logDir, pod, "c");
  }

  /** The log files, oldest first: the current one has no time in its name. */
  function files(): string[] {
    const names = readdirSync(logDir()).filter((name) => !name.endsWith(".tmp"));
    const rotated = names.filter((name) => name !== "0.log").sort((a, b) => (a < b ? -1 : 1));
    return [...rotated, ...(names.includes("0.log") ? ["0.log"] : [])];
  }

  /** The output of the container that is still in its log files. */
  function numbers(): number[] {
    const lines = files().flatMap((name) => {
      const content = readFileSync(join(logDir(), name));
      return (name.endsWith(".gz") ? gunzipSync(content) : content).toString().split("\n").slice(0, -1);
    });
    return lines.map((line) => Number(/ stdout F (\d+)$/.exec(line)?.[1]));
  }

  // parity: field containerLogMaxSize, field containerLogMaxFiles, field containerLogMonitorInterval
  test("a growing log is rotated, compressed and finally removed, without losing lines", async () => {
    writeManifest(
      node.manifests,
      "chatty.json",
      podManifest("chatty", { hostNetwork: true, containers: [{ name: "c", command: printsNumbers }] }),
    );
    const pods = podsOf(agent);
    await pods.running("chatty");
    const time = "\\d{8}-\\d{6}";
    const expected = new RegExp(`^0\\.log\\.${time}\\.gz 0\\.log\\.${time} 0\\.log$`);
    await waitFor(() => {
      assert.match(files().join(" "), expected);
      const printed = numbers();
      assert.ok(printed[0]! > 1, "the oldest file still exists");
      const first = printed[0]!;
      assert.deepEqual(
        printed,
        printed.map((_, i) => first + i),
      );
      assert.match(files().join(" "), expected, "the files changed while they were read");
    }, 60_000);
    const row = await pods.running("chatty");
    assert.equal(row.restarts, 0);
    rmSync(join(node.manifests, "chatty.json"));
    await pods.gone("chatty");
    await waitFor(() => assert.throws(logDir, /there are no logs/));
  });
});
