import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { TransportError } from "../../src/lib/clients/kube/api-error.ts";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import { PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";

test("a pod from the API server runs, is reported as Running, and is deleted only after it has terminated", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const { metadata } = cluster.addPod("web");
  const running = await cluster.runs("web");
  assert.equal(running.status?.observedGeneration, 1);
  assert.match(running.status?.podIP ?? "", /\d/);
  assert.equal(cluster.runningOf(metadata.uid).length, 1);

  let atDelete: unknown;
  cluster.api.onRequest = (call) => {
    if (call !== "DELETE pods default/web") return;
    const sandboxes = [...cluster.runtime.pods.sandboxes.values()].filter(
      (s) => s.config.metadata?.uid === metadata.uid && s.state === PodSandboxState.SANDBOX_READY,
    );
    atDelete = {
      running: cluster.runningOf(metadata.uid).length,
      sandboxes: sandboxes.length,
      phase: cluster.api.pod("web")?.status?.phase,
    };
  };
  cluster.api.deletePod("web");
  await cluster.isGone("web");
  assert.deepEqual(atDelete, { running: 0, sandboxes: 0, phase: "Succeeded" });
  await waitFor(() => assert.equal(cluster.containersOf(metadata.uid).length, 0));
  await waitFor(() => assert.equal(cluster.agent.overview.rows().length, 0));
  await waitFor(() => assert.equal(cluster.events("web", "Started").length, 1));
});

test("a pod that the API no longer has is terminated", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const { metadata } = cluster.addPod("web");
  await cluster.runs("web");
  cluster.api.deletePod("web", 0);
  await waitFor(() => assert.equal(cluster.containersOf(metadata.uid).length, 0));
});

test("a pod whose UID is a path leads to no file outside of its directories, and other pods run", async (t) => {
  const cluster = await TestCluster.start(t);
  const victim = join(cluster.dir, "outside/victim");
  await mkdir(victim, { recursive: true });
  await writeFile(join(victim, "file"), "x");
  await cluster.startAgent();
  const { metadata, ...pod } = cluster.addPod("path");
  cluster.api.deletePod("path", 0);
  cluster.api.put("pods", { ...pod, metadata: { ...metadata, uid: "../../outside/victim" } } as never);
  cluster.addPod("good");
  await cluster.runs("good");
  cluster.api.deletePod("path", 0);
  cluster.api.deletePod("good");
  await cluster.isGone("good");
  await waitFor(async () => assert.deepEqual(await readdir(join(cluster.dir, "root/pods")), []));
  assert.deepEqual(await readdir(victim), ["file"]);
});

for (const [which, container] of [
  ["null as a container", null],
  ["an object as a quantity", { name: "c", image: "x", resources: { limits: { cpu: {} } } }],
] as const)
  test(`a pod with ${which} does not keep other pods from running`, async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.startAgent();
    const { metadata, ...pod } = cluster.addPod("malformed");
    cluster.api.deletePod("malformed", 0);
    const bad = {
      ...pod,
      metadata: { ...metadata, uid: randomUUID() },
      spec: { ...pod.spec, containers: [container] },
    };
    cluster.api.put("pods", bad as never);
    cluster.addPod("good");
    await cluster.runs("good");
  });

test("a succeeded pod remains in the API until it is deleted, and is then removed immediately", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  cluster.addPod("job", { restartPolicy: "Never", containers: [container({ command: ["true"] })] });
  await cluster.waitForPod("job", (pod) => assert.equal(pod.status?.phase, "Succeeded"));
  await waitFor(() => assert.match(cluster.agent.overview.rows()[0]?.phase ?? "", /Succeeded/));
  assert.ok(!cluster.api.requests.some((call) => call.startsWith("DELETE pods")));
  cluster.api.deletePod("job");
  await waitFor(() => assert.equal(cluster.api.pod("job"), undefined), 20_000);
});

test("a pod that the node does not admit fails in the API, with a reason", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const { metadata } = cluster.addPod("elsewhere", { nodeSelector: { zone: "b" } });
  const { status } = await cluster.waitForPod("elsewhere", (pod) =>
    assert.equal(pod.status?.phase, "Failed"),
  );
  assert.equal(status?.reason, "NodeAffinity");
  assert.equal(cluster.containersOf(metadata.uid).length, 0);
  cluster.api.deletePod("elsewhere");
  await cluster.isGone("elsewhere");
});

test("a pod that needs a feature whose gate is off fails in the API", async (t) => {
  const gates = new FeatureGates({ RestartAllContainersOnContainerExits: false });
  const cluster = await TestCluster.start(t, { gates });
  await cluster.startAgent();
  const restartPolicyRules = [
    { action: "RestartAllContainers", exitCodes: { operator: "In" as const, values: [42] } },
  ];
  const containers = [container({ restartPolicy: "Never", restartPolicyRules })];
  const { metadata } = cluster.addPod("all-again", { containers });
  const { status } = await cluster.waitForPod("all-again", (pod) =>
    assert.equal(pod.status?.phase, "Failed"),
  );
  assert.deepEqual(
    [status?.reason, status?.message],
    [
      "PodFeatureUnsupported",
      "Pod was rejected: Pod requires node features that are not available: RestartAllContainersOnContainerExits",
    ],
  );
  assert.equal(cluster.containersOf(metadata.uid).length, 0);
});

test("labels of the node in the API decide where a pod may run", async (t) => {
  const cluster = await TestCluster.start(t, { nodeFlags: { nodeLabels: { zone: "b" } } });
  await cluster.startAgent();
  cluster.addPod("here", { nodeSelector: { zone: "b" } });
  await cluster.runs("here");
});

test("variables come from ConfigMaps, Secrets and services, and the pod waits for missing ones", async (t) => {
  const cluster = await TestCluster.start(t);
  cluster.api.put("services", {
    metadata: { namespace: "default", name: "kubernetes" },
    spec: { clusterIP: "10.0.0.1", ports: [{ name: "https", port: 443 }] },
  });
  cluster.api.put("secrets", {
    metadata: { namespace: "default", name: "s" },
    data: { key: Buffer.from("secret").toString("base64") },
  });
  await cluster.startAgent();
  const { metadata } = cluster.addPod("web", {
    enableServiceLinks: false,
    containers: [
      container({
        envFrom: [{ configMapRef: { name: "cm" } }],
        env: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "key" } } }],
      }),
    ],
  });
  await cluster.waitForPod("web", ({ status }) => {
    const waiting = status?.containerStatuses?.[0]?.state?.waiting;
    assert.deepEqual(
      [waiting?.reason, waiting?.message],
      ["CreateContainerConfigError", 'configmap "cm" not found'],
    );
  });
  cluster.api.put("configmaps", { metadata: { namespace: "default", name: "cm" }, data: { a: "1" } });
  await cluster.runs("web");
  const envs = cluster.runningOf(metadata.uid)[0]?.config.envs ?? [];
  const env = Object.fromEntries(envs.map(({ key, value }) => [key, Buffer.from(value).toString()]));
  assert.deepEqual(
    [env.a, env.S, env.KUBERNETES_SERVICE_HOST, env.KUBERNETES_SERVICE_PORT_HTTPS],
    ["1", "secret", "10.0.0.1", "443"],
  );
});

// parity: event FailedCreatePodSandBox
test("a pod with an unknown RuntimeClass waits for it, with a reason", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  cluster.addPod("web", { runtimeClassName: "fast" });
  const message = 'Failed to create pod sandbox: runtimeclass.node.k8s.io "fast" not found';
  await waitFor(() => assert.ok(cluster.events("web", "FailedCreatePodSandBox").includes(message)));
  await cluster.waitForPod("web", ({ status }) =>
    assert.equal(status?.containerStatuses?.[0]?.state?.waiting?.reason, "ContainerCreating"),
  );
  cluster.api.put("runtimeclasses", { metadata: { name: "fast" }, handler: "runc" });
  await cluster.runs("web");
  assert.deepEqual(
    [...cluster.runtime.pods.sandboxes.values()].map((s) => s.handler),
    ["runc"],
  );
});

test("a status that another client changed is corrected", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  cluster.addPod("web");
  const pod = await cluster.runs("web");
  cluster.api.put("pods", { ...pod, status: { ...pod.status, phase: "Pending" } });
  await cluster.runs("web");
});

test("no container of an API pod is created before the services are listed", async (t) => {
  const cluster = await TestCluster.start(t);
  let isOpen = false;
  cluster.api.onRequest = (call) => {
    if (call.endsWith(" services") && !isOpen) throw new TransportError("connection reset");
  };
  await cluster.startAgent();
  await cluster.placeManifest("static");
  const { metadata } = cluster.addPod("web");
  await cluster.waitForPod("web", ({ status }) => {
    const { reason, message } = status?.containerStatuses?.[0]?.state?.waiting ?? {};
    const args = "services have not yet been read at least once, cannot construct envvars";
    assert.deepEqual([reason, message], ["CreateContainerConfigError", args]);
  });
  assert.equal(cluster.containersOf(metadata.uid).length, 0);
  await cluster.runs(`static-${nodeName}`);
  isOpen = true;
  await cluster.runs("web");
});

test("images are pulled with the credentials of the pod's secrets", async (t) => {
  const image = "registry.test/private:1";
  const cluster = await TestCluster.start(t, {}, { [image]: {} });
  const auths = { "registry.test": { username: "me", password: "secret" } };
  cluster.api.put("secrets", {
    metadata: { namespace: "default", name: "pull" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") },
  });
  await cluster.startAgent();
  cluster.addPod("web", {
    imagePullSecrets: [{ name: "pull" }],
    containers: [container({ image, imagePullPolicy: "Always" })],
  });
  await waitFor(() => {
    const [pull] = cluster.runtime.callsOf("PullImage");
    const { auth } = (pull?.request ?? {}) as { auth?: object };
    assert.deepEqual(auth, { username: "me", password: "secret" });
  });
});
