import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { nodeFiles } from "../../src/single-node/node-files.ts";
import { containerIdOf, podsOf } from "../e2e/agent-pods.ts";
import { AgentProcess, cgroupDirs } from "../e2e/agent-process.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { long } from "../long.ts";
import { unavailable } from "../node/isolated-report.ts";
import { containerd2Dir, startTestNode, type TestNode } from "../node/test-node.ts";

const hasSystemd = existsSync("/run/systemd/system");

describe(long("a node whose runtime has another cgroup driver than the configuration"), {
  skip: unavailable,
}, () => {
  let node: TestNode;
  let agent: AgentProcess;
  let runtime: ChildProcess | undefined;
  before(async () => {
    node = await startTestNode({ containerd: "2.x" });
    agent = await AgentProcess.create(node, { cgroupDriver: "systemd" });
    writeManifest(node.manifests, "web.yaml", manifest({ name: "web" }));
  });
  after(async () => {
    if (runtime) {
      const exited = once(runtime, "exit");
      runtime.kill("SIGTERM");
      await exited;
    }
    await agent?.destroy();
  });

  test("pods run in cgroups of the runtime's driver", async () => {
    // The reference replaces the configured driver with the driver of the runtime (getCgroupDriverFromCRI).
    agent.start();
    const { uid } = await podsOf(agent).running("web");
    const dirs = cgroupDirs(`${node.cgroupRoot}/kubepods/besteffort`);
    assert.ok(
      dirs.some((dir) => dir.endsWith(`/pod${uid}`)),
      dirs.join("\n"),
    );
    assert.deepEqual(globSync(`/sys/fs/cgroup/*${node.cgroupRoot}*.slice`), []);
  });

  test("with a runtime that changes to systemd on a host without it, the kubelet ends, and its pods keep running", {
    skip: hasSystemd && "this host has systemd",
  }, async () => {
    const id = containerIdOf(await podsOf(agent).running("web"));
    await agent.end("SIGTERM");
    await node.stopRuntime();
    runtime = await startWithSystemd(node);
    // The reference cannot create cgroups: "systemd not running on this host, cannot use systemd cgroups manager".
    agent.start();
    assert.equal(await agent.exited(), 1, agent.log().slice(-2000));
    assert.match(agent.log(), /systemd/);
    assert.match(await node.ctr(["tasks", "list"]), new RegExp(`${id}\\s+\\d+\\s+RUNNING`));
  });
});

/** The containerd of the node, as an administrator would configure it. */
async function startWithSystemd(node: TestNode): Promise<ChildProcess> {
  const { containerd } = nodeFiles(node.name);
  const config = readFileSync(containerd.config, "utf8");
  assert.match(config, /SystemdCgroup = false/);
  const changed = `${containerd.config}.systemd`;
  writeFileSync(changed, config.replace("SystemdCgroup = false", "SystemdCgroup = true"));
  const env = { ...process.env, PATH: `${containerd2Dir}:${process.env.PATH}` };
  const child = spawn(join(containerd2Dir, "containerd"), ["--config", changed], { env, stdio: "ignore" });
  await waitFor(() => node.ctr(["version"]));
  return child;
}
