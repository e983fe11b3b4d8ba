import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { PodSpec } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import { explained } from "./explained.ts";

async function start(t: TestContext) {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  return { cluster, ...explained(join(cluster.dir, "root")) };
}

const secretVolume: Partial<PodSpec> = {
  volumes: [{ name: "data", secret: { secretName: "missing" } }],
  containers: [container({ volumeMounts: [{ name: "data", mountPath: "/data" }] })],
};

test("explain names an image that cannot be pulled, with its error and the next retry", async (t) => {
  const { cluster, waits, run } = await start(t);
  const image = "example.test/no/such:1";
  cluster.addPod("web", { containers: [container({ image, imagePullPolicy: "IfNotPresent" })] });
  const pod = await waits("web", "image", /^Back-off pulling image "example\.test\/no\/such:1"/);
  assert.equal(pod.waitsFor?.container, "c");
  assert.ok(Date.parse(pod.waitsFor?.until ?? "") > Date.parse(pod.waitsFor?.since ?? ""));
  assert.match(pod.lastError?.text ?? "", /not found|no such/i);
  const pull = pod.history.find(({ text }) => text === `pulling image ${image}`);
  assert.ok(pull?.error, "the history has no failed pull");
  // A sync in between briefly checks for the image again.
  await waitFor(async () => {
    const text = await run("web");
    assert.match(text, /^default\/web {2}Pending/);
    assert.match(text, /in back-off for [\d.]+ s, next attempt at \d\d:\d\d:\d\d/);
    assert.match(text, /pulling image example\.test\/no\/such:1: (failed|\d+ attempts)/);
    assert.match(text, /\n {2}try: /);
  });
});

test("explain names the volume of a missing secret, and its error", async (t) => {
  const { cluster, waits, waitForPod } = await start(t);
  cluster.addPod("web", secretVolume);
  const pod = await waits("web", "volumes", /^waiting for volume data: .*secret "missing" not found/);
  assert.equal(pod.ready, false);
  cluster.api.put("secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "default", name: "missing" },
    data: {},
  } as never);
  const started = await waitForPod("web", ({ ready, waitsFor }) =>
    assert.deepEqual([ready, waitsFor], [true, null]),
  );
  const volumes = started.start?.steps.find(({ step }) => step === "volumes");
  assert.ok(volumes && volumes.ms > 0, "the start steps lack the wait for the volume");
  assert.ok(started.start!.tookMs >= volumes.ms);
});

test("explain shows the end of a back-off, and how the container terminated", async (t) => {
  const { cluster, waits } = await start(t);
  cluster.addPod("web", { containers: [container({ command: ["sh", "-c", "exit 3"] })] });
  const pod = await waits("web", "backoff", /^back-off 10s until \S+ before restarting c$/);
  assert.match(pod.cause ?? "", /^container c exited with code 3 \(Error\); restarted (once|\d+ times)$/);
  assert.match(pod.lastError?.text ?? "", /exited with code 3/);
  assert.equal(pod.waitsFor?.text.includes(pod.waitsFor.until ?? "?"), true);
});

test("explain names a failed readiness probe, and its output", async (t) => {
  const { cluster, waitForPod, run } = await start(t);
  const readinessProbe = { httpGet: { port: 1, host: "127.0.0.1" }, periodSeconds: 1, failureThreshold: 1 };
  cluster.addPod("web", { containers: [container({ readinessProbe })] });
  const pod = await waitForPod("web", ({ waitsFor, cause }) => {
    assert.equal(waitsFor?.text, "waiting for the readiness probe of c");
    assert.match(cause ?? "", /^readiness probe of container c failed: nothing listens on 127\.0\.0\.1:1\//);
  });
  assert.equal(pod.waitsFor?.step, "readiness");
  assert.match(pod.lastError?.text ?? "", /refused/i);
  assert.equal(pod.history.at(-1)?.step, "readiness");
  assert.equal(pod.history.at(-1)?.endedAt, undefined);
  const row = cluster.agent.overview.rows().find(({ name }) => name === "web");
  assert.equal(row?.blockedOn, "waiting for the readiness probe of c", "the table of pods does not show it");
  assert.match(
    await run("web"),
    /Running: readiness probe of container c failed.*\n {2}try: .*\n {2}reported .*refused/,
  );
});

test("explain names a readiness gate without a condition", async (t) => {
  const { cluster, waits } = await start(t);
  cluster.addPod("web", { readinessGates: [{ conditionType: "example.test/ok" }] });
  await waits("web", "gate", /readiness gate "example\.test\/ok" does not exist/);
});

test("explain names the container that delays termination, and its remaining grace period", async (t) => {
  const { cluster, waitForPod, all } = await start(t);
  const ignoresTerm = ["sh", "-c", "trap '' TERM; while true; do sleep 1000; done"];
  cluster.addPod("web", {
    terminationGracePeriodSeconds: 6,
    containers: [container({ command: ignoresTerm })],
  });
  await cluster.runs("web");
  cluster.api.deletePod("web");
  const pod = await waitForPod("web", ({ waitsFor, phase, details }) => {
    assert.equal(phase, "Terminating");
    assert.equal(waitsFor?.step, "stop");
    assert.match(details[0] ?? "", /^c is still running; \d\.\d s of its grace period are left$/);
  });
  assert.equal(pod.ready, false);
  await cluster.isGone("web");
  await waitFor(async () => assert.deepEqual((await all()).pods, []));
});

test("explain without a name shows pods that are not ready, and finds a pod by each of its names", async (t) => {
  const { cluster, all, run } = await start(t);
  assert.match(await run(), new RegExp(`^all pods of ${nodeName} are ready, and none has failed`, "m"));
  const { metadata } = cluster.addPod("good");
  cluster.addPod("bad", secretVolume);
  await cluster.placeManifest("fixed");
  await cluster.runs("good");
  await cluster.runs(`fixed-${nodeName}`);
  const names = async (...args: string[]) => (await all(...args)).pods.map(({ name }) => name);
  await waitFor(async () => assert.deepEqual(await names(), ["bad"]));
  assert.deepEqual(await names("--all"), ["bad", `fixed-${nodeName}`, "good"]);
  for (const name of ["good", "default/good", metadata.uid]) assert.deepEqual(await names(name), ["good"]);
  for (const name of ["fixed", `fixed-${nodeName}`, "default/fixed"])
    assert.deepEqual(await names(name), [`fixed-${nodeName}`]);
  for (const name of ["other/good", "goo", "good/x"]) await assert.rejects(run(name), /there is no pod/);
  assert.match(await run("good"), /started in [\d.]+ s: .*sandbox [\d.]+ s/);
});

test("explain reports that no kubelet is running", async (t) => {
  const { cluster, run } = await start(t);
  await cluster.stopAgent();
  await assert.rejects(run(), /cannot connect to the kubelet at .*kubelet\.sock/);
});

test("explain shows the runtime's error for a failed sandbox, and the next retry", async (t) => {
  const { cluster, waits } = await start(t);
  const message = 'plugin type="bridge" failed: no addresses left';
  cluster.runtime.faults.add({
    method: "RunPodSandbox",
    times: 100,
    effect: { kind: "fail", code: "UNKNOWN", message },
  });
  cluster.addPod("web");
  const pod = await waits("web", "sandbox", /^creating the sandbox: .*no addresses left/);
  assert.ok(pod.waitsFor?.until);
  assert.match(pod.lastError?.text ?? "", /no addresses left/);
});

// parity: event NetworkNotReady
test("explain names a network that is not ready, a running init container, a startup probe and a hook", async (t) => {
  const { cluster, waits } = await start(t);
  const startupProbe = { httpGet: { port: 1, host: "127.0.0.1" }, periodSeconds: 1, failureThreshold: 100 };
  cluster.addPod("starting", { containers: [container({ startupProbe })] });
  cluster.addPod("initializing", { initContainers: [container({ name: "first" })] });
  const lifecycle = { postStart: { sleep: { seconds: 3600 } } };
  cluster.addPod("hooked", { containers: [container({ lifecycle })] });
  const starting = await waits("starting", "startup", /^waiting for the startup probe of c$/);
  assert.equal(starting.waitsFor?.container, "c");
  const init = await waits("initializing", "init", /^waiting for init container first to complete$/);
  assert.equal(init.waitsFor?.container, "first");
  await waits("hooked", "hook", /^waiting for the postStart hook of c$/);
  cluster.runtime.conditions.networkReady = false;
  await waitFor(() => {
    cluster.addPod(`late-${Date.now()}`);
    assert.ok(cluster.agent.overview.rows().some(({ blockedOn }) => /^network is not ready/.test(blockedOn)));
  }, 15_000);
  const late = cluster.agent.overview.rows().find(({ blockedOn }) => /^network is not ready/.test(blockedOn));
  await waits(late!.name, "network", /^network is not ready/);
  await waitFor(() =>
    assert.match(cluster.events(late!.name, "NetworkNotReady")[0] ?? "", /^network is not ready: /),
  );
});

test("explain names a slow preStop hook, and an API server that does not accept the last status", async (t) => {
  const { cluster, waitForPod, waits } = await start(t);
  const lifecycle = { preStop: { sleep: { seconds: 2 } } };
  cluster.addPod("web", { containers: [container({ lifecycle })] });
  await cluster.runs("web");
  cluster.api.deletePod("web");
  await waitForPod("web", ({ details }) =>
    assert.match(
      details[0] ?? "",
      /^c is still running, in its preStop hook; \d\.\d s of its grace period are left$/,
    ),
  );
  cluster.api.goDown();
  await waits("web", "status", /^waiting for the API server to accept the last status and delete the pod$/);
  cluster.api.recover();
  await cluster.isGone("web");
});

const firstLine = (text: string) => text.split("\n", 1)[0] ?? "";

test("explain names the missing label of a rejected pod in its first line, and lists the pod", async (t) => {
  const { cluster, waitForPod, all, run } = await start(t);
  cluster.addPod("web", { nodeSelector: { disk: "ssd" } });
  const pod = await waitForPod("web", ({ phase }) => assert.equal(phase, "Failed"));
  assert.match(
    pod.cause ?? "",
    /^NodeAffinity: nodeSelector disk=ssd does not match: the node has no label disk$/,
  );
  assert.ok(pod.failedAt);
  assert.match(firstLine(await run("web")), /^default\/web {2}Failed: NodeAffinity: .*disk=ssd/);
  assert.deepEqual(
    (await all()).pods.map(({ name }) => name),
    ["web"],
  );
  await waitFor(() => {
    const { reason, message } = cluster.api.pod("web")?.status ?? {};
    assert.equal(reason, "NodeAffinity");
    assert.match(message ?? "", /node affinity\/selector$/, "the message in the API is not upstream's");
  });
});

test("explain shows a failed pod after it was deleted, and the next pod of the same name", async (t) => {
  const { cluster, waitForPod, all } = await start(t);
  const spec: Partial<PodSpec> = {
    restartPolicy: "Never",
    containers: [container({ command: ["sh", "-c", "exit 7"] })],
  };
  const { metadata } = cluster.addPod("job", spec);
  await waitForPod("job", ({ phase }) => assert.equal(phase, "Failed"));
  cluster.api.deletePod("job");
  await cluster.isGone("job");
  const pod = await waitForPod("job", ({ goneAt }) => assert.ok(goneAt));
  assert.equal(pod.cause, "container c exited with code 7 (Error)");
  assert.deepEqual([pod.uid, pod.waitsFor], [metadata.uid, null]);
  cluster.addPod("job");
  await cluster.runs("job");
  const named = (await all("job")).pods;
  assert.deepEqual(
    named.map(({ goneAt }) => goneAt !== undefined),
    [false, true],
  );
  assert.deepEqual(
    (await all()).pods.map(({ uid }) => uid),
    [metadata.uid],
    "the running pod is listed",
  );
});

test("explain does not show a deleted pod that had not failed", async (t) => {
  const { cluster, all, run } = await start(t);
  const ignoresTerm = ["sh", "-c", "trap '' TERM; while true; do sleep 1000; done"];
  cluster.addPod("web", {
    terminationGracePeriodSeconds: 1,
    containers: [container({ command: ignoresTerm })],
  });
  await cluster.runs("web");
  cluster.api.deletePod("web");
  await cluster.isGone("web");
  await waitFor(async () => assert.deepEqual((await all()).pods, []));
  await waitFor(() => assert.rejects(run("web"), /there is no pod web/));
});

test("explain names the liveness probe that killed a container, even while the container runs again", async (t) => {
  const { cluster, waitForPod, run } = await start(t);
  const livenessProbe = { httpGet: { port: 1, host: "127.0.0.1" }, periodSeconds: 1, failureThreshold: 1 };
  cluster.addPod("web", { containers: [container({ livenessProbe })] });
  const killed = /^container c was killed because its liveness probe failed: .*refused.*; restarted/i;
  await waitForPod("web", ({ cause }) => assert.match(cause ?? "", killed), 30_000);
  assert.match(firstLine(await run("web")), /^default\/web {2}(Ready|Running): container c was killed/);
});

test("the node is explained by what is left of each resource that has a threshold", async (t) => {
  const cluster = await TestCluster.start(t);
  await cluster.startAgent();
  const { run } = explained(join(cluster.dir, "root"));
  await waitFor(async () =>
    assert.match(await run("node"), /^ {2}memory\.available +hard +< 100Mi +\S+Gi of \S+Gi available$/m),
  );
  const found = JSON.parse(await run("node", "-o", "json"));
  assert.deepEqual([found.node, found.conditions, found.lastEviction], [nodeName, [], null]);
});
