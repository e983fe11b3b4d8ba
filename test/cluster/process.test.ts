import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { leavesHostUnchanged } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";
import { serveApi } from "./serve-api.ts";

// parity: field providerID, field registerWithTaints, flag kubeconfig, flag node-labels, flag hostname-override, flag root-dir, field containerRuntimeEndpoint
test("a kubelet with --kubeconfig is a node of that cluster, and its pods keep running after SIGTERM", async (t) => {
  const cluster = await TestCluster.start(t);
  const proxy = await serveApi(cluster.api);
  t.after(() => proxy.close());
  const kubeconfig = join(cluster.dir, "kubeconfig");
  const context = { name: "c", context: { cluster: "c", user: "u" } };
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      contexts: [context],
      clusters: [{ name: "c", cluster: { server: proxy.url } }],
      users: [{ name: "u", user: {} }],
    }),
  );
  const child = spawn(
    process.execPath,
    [
      kubeletProgram,
      `--kubeconfig=${kubeconfig}`,
      "--enable-server=false",
      `--root-dir=${join(cluster.dir, "root")}`,
      `--container-runtime-endpoint=${cluster.runtime.endpoint}`,
      `--hostname-override=${nodeName}`,
      "--node-labels=zone=a",
      "--register-with-taints=example.com/new=yes:NoSchedule",
      "--provider-id=test://1",
      "--cgroups-per-qos=false",
      "--enforce-node-allocatable=",
      "--fail-cgroupv1=false",
      "--fail-swap-on=false",
      ...leavesHostUnchanged,
      "--resolv-conf=",
      "--healthz-port=0",
      "--read-only-port=0",
      "--image-gc-high-threshold=100",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  child.stderr.on("data", (text) => {
    log += text;
  });
  const exited = once(child, "exit");
  t.after(() => child.kill("SIGKILL"));
  const { metadata } = cluster.addPod("web", { nodeSelector: { zone: "a" } });
  await cluster.runs("web").catch((error) => {
    throw new Error(log, { cause: error });
  });
  // A bound pod does not wait for the registration of the node.
  await waitFor(() =>
    assert.deepEqual(cluster.api.get("nodes", "", nodeName)?.spec, {
      providerID: "test://1",
      taints: [{ key: "example.com/new", value: "yes", effect: "NoSchedule" }],
    }),
  );
  await waitFor(() => assert.ok(cluster.api.get("leases", "kube-node-lease", nodeName)));
  assert.doesNotMatch(log, /not implemented yet: .*--(kubeconfig|node-labels|register|provider)/);
  child.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
  assert.equal(cluster.runningOf(metadata.uid).length, 1);
  assert.equal(cluster.api.pod("web")?.status?.phase, "Running");
});

test("a kubelet whose kubeconfig is missing reports it and does not start", async (t) => {
  const cluster = await TestCluster.start(t);
  const child = spawn(
    process.execPath,
    [kubeletProgram, `--kubeconfig=${cluster.dir}/none`, `--root-dir=${cluster.dir}/root`],
    {
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  let log = "";
  child.stderr.on("data", (text) => {
    log += text;
  });
  assert.deepEqual(await once(child, "exit"), [1, null]);
  assert.match(log, /kubelet: kubeconfig .*none: there is no file/);
});
