import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { cli } from "../e2e/cli-process.ts";
import { sh } from "../e2e/lifecycle-suite.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { containerdVersions } from "../node/test-node.ts";
import { explained } from "./explained.ts";
import { NodeWithApi } from "./node-with-api.ts";

// The messages do not depend on the runtime, so one version of it is enough.
const { name: version, available } = containerdVersions().findLast(({ available }) => available === true) ?? {
  name: "2.x" as const,
  available: "no containerd",
};

/** All pods run at the same time; each test polls for its own. */
describe("kubelet explain shows what a pod waits for", {
  skip: available === true ? false : available,
}, () => {
  let apiNode: NodeWithApi;

  before(async () => {
    apiNode = await NodeWithApi.start(version);
    await Promise.all([
      apiNode.addPod("good"),
      apiNode.addPod("no-image", { image: "127.0.0.1:1/no/such:1", imagePullPolicy: "IfNotPresent" }),
      apiNode.addPod(
        "no-secret",
        { volumeMounts: [{ name: "data", mountPath: "/data" }] },
        { volumes: [{ name: "data", secret: { secretName: "missing" } }] },
      ),
      apiNode.addPod("crashes", { command: sh("echo oops > /dev/termination-log; exit 3") }),
      apiNode.addPod("unready", {
        readinessProbe: { exec: { command: sh("echo not yet; exit 1") }, periodSeconds: 1 },
      }),
      apiNode.addPod(
        "deaf",
        { command: sh("trap '' TERM; while true; do sleep 1; done") },
        { terminationGracePeriodSeconds: 25 },
      ),
    ]);
  });
  after(() => apiNode?.destroy());

  const explain = () => explained(apiNode.node.rootDir);

  test("the start steps of a ready pod have durations", async () => {
    await apiNode.runs("good", 60_000);
    const { start } = await explain().waitForPod("good", ({ ready }) => assert.equal(ready, true));
    const steps = new Map(start?.steps.map(({ step, ms }) => [step, ms]));
    assert.ok((steps.get("sandbox") ?? 0) > 0 && (steps.get("container") ?? 0) > 0, JSON.stringify(start));
    const sum = [...steps.values()].reduce((a, b) => a + b, 0);
    assert.ok(sum <= start!.tookMs, "the steps take longer than the whole start");
    assert.match(
      await explain().run("good"),
      /started in [\d.]+ s: .*sandbox [\d.]+ s, .*container [\d.]+ s/,
    );
  });

  test("a pod waits for an image that cannot be pulled", async () => {
    const backOff = /^Back-off pulling image "127\.0\.0\.1:1\/no\/such:1"/;
    const pod = await explain().waits("no-image", "image", backOff, 60_000);
    assert.ok(pod.waitsFor?.until, "the next retry is missing");
    assert.match(pod.lastError?.text ?? "", /connection refused/);
    const tried = pod.history.find(({ text }) => text === "pulling image 127.0.0.1:1/no/such:1");
    assert.match(tried?.error ?? "", /connection refused/);
  });

  test("a pod waits for a missing secret", async () => {
    await explain().waits(
      "no-secret",
      "volumes",
      /^waiting for volume data: .*secret "missing" not found/,
      60_000,
    );
    assert.match(
      await explain().run("default/no-secret"),
      /Pending: volume data cannot be mounted: Secret missing does not exist in namespace default.*\n {2}try: .*kubectl get secret -n default\n {2}reported.*: secret "missing" not found/,
    );
  });

  test("a crashing container waits for its back-off", async () => {
    const backOff = /^back-off \d+s until \S+ before restarting c$/;
    const pod = await explain().waits("crashes", "backoff", backOff, 60_000);
    assert.match(
      pod.cause ?? "",
      /^container c exited with code 3 \(Error\): oops; restarted (once|\d+ times)$/,
    );
  });

  test("a pod waits for a failing readiness probe", async () => {
    const pod = await explain().waitForPod(
      "unready",
      ({ cause }) => assert.match(cause ?? "", /^readiness probe of container c failed.*: not yet$/),
      60_000,
    );
    assert.equal(pod.waitsFor?.step, "readiness");
    assert.match(pod.lastError?.text ?? "", /^not yet/);
  });

  test("a terminating pod waits for a container that ignores SIGTERM", async () => {
    await apiNode.runs("deaf", 60_000);
    await apiNode.deletePod("deaf");
    const pod = await explain().waitForPod("deaf", ({ details }) =>
      assert.match(details[0] ?? "", /^c is still running; [\d.]+ s of its grace period are left$/),
    );
    assert.equal(pod.waitsFor?.step, "stop");
    assert.equal(pod.phase, "Terminating");
    await apiNode.admin.request({
      method: "DELETE",
      path: "/api/v1/namespaces/default/pods/deaf",
      query: { gracePeriodSeconds: 1 },
    });
    await apiNode.isGone("deaf");
  });

  test("without a name, exactly the pods that are not ready are shown", async () => {
    await waitFor(async () => {
      const { pods } = await explain().all();
      const names = pods.map(({ name }) => name);
      assert.deepEqual(names, ["crashes", "no-image", "no-secret", "unready"]);
    });
  });

  test("the command prints one pod, and fails for a missing pod or without a kubelet", async () => {
    const [one, missing, noAgent] = await Promise.all([
      cli(["explain", "crashes", "--root-dir", apiNode.node.rootDir]),
      cli(["explain", "nobody", "--root-dir", apiNode.node.rootDir]),
      cli(["explain", "--root-dir", "/no/such"]),
    ]);
    assert.deepEqual([one.status, one.stderr], [0, ""]);
    assert.match(
      one.stdout,
      /^default\/crashes .*\n {2}try: .*kubectl logs crashes .*\n(.*\n)*? {2}in back-off for .*\n/,
    );
    assert.deepEqual([missing.status, missing.stdout], [1, ""]);
    assert.match(missing.stderr, /^kubelet: there is no pod nobody/);
    assert.deepEqual([noAgent.status, noAgent.stdout], [1, ""]);
    assert.match(noAgent.stderr, /^kubelet: cannot connect to the kubelet at \/no\/such\/kubelet\.sock/);
  });
});
