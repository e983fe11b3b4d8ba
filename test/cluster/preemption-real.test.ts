import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import { podManifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { nodeName } from "./cluster-node.ts";
import { explained } from "./explained.ts";
import { NodeWithApi } from "./node-with-api.ts";

/** Terminates at the end of its grace period. */
const ignoresTerm = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"];

describeOnContainerd("preemption for critical pods", (version) => {
  let apiNode: NodeWithApi;
  let millicores = 0;

  before(async () => {
    apiNode = await NodeWithApi.start(version);
    await waitFor(async () => {
      const { status } = await apiNode.get<NodeObject>(`/api/v1/nodes/${nodeName}`);
      millicores = Number(/^(\d+)$/.exec(status.allocatable?.cpu ?? "")?.[1]) * 1000;
      assert.ok(millicores > 0, JSON.stringify(status.allocatable));
    });
  });
  after(() => apiNode?.destroy());

  const cpu = (part: number) => ({
    resources: { requests: { cpu: `${Math.floor(part * millicores)}m` } },
  });
  const isPreempted = (name: string, phase: string, reason: string | undefined) =>
    waitFor(async () => {
      const { status } = await apiNode.pod(name);
      assert.deepEqual([status?.phase, status?.reason], [phase, reason], JSON.stringify(status));
      assert.deepEqual(await apiNode.containersOf(name), []);
    }, 60_000);

  test("the agent is killed while a critical pod waits: it runs in the end, its victim does not, others keep running", async () => {
    const bound = { nodeName };
    await apiNode.addPod("kept", cpu(0.45), bound);
    await apiNode.addPod(
      "victim",
      { ...cpu(0.4), command: ignoresTerm },
      { ...bound, terminationGracePeriodSeconds: 8 },
    );
    await apiNode.runs("kept", 60_000);
    await apiNode.runs("victim", 60_000);
    const [kept] = await apiNode.containersOf("kept");
    const [victim] = await apiNode.containersOf("victim");

    await apiNode.addPod("dns", cpu(0.4), { ...bound, priorityClassName: "system-node-critical" });
    const { waits, waitForPod } = explained(apiNode.node.rootDir);
    await waits(
      "dns",
      "admission",
      /^waiting for others to terminate, lacks cpu \d+m: default\/victim \(Burstable, cpu \d+m\)$/,
    );
    await apiNode.agent.end("SIGKILL");
    assert.deepEqual(
      (await apiNode.containersOf("victim")).map(({ id }) => id),
      [victim?.id],
      "killed in the middle",
    );

    apiNode.startAgent();
    await apiNode.runs("dns", 60_000);
    await isPreempted("victim", "Failed", "Preempting");
    assert.deepEqual(await apiNode.containersOf("kept"), [kept]);
    const { cause } = await waitForPod("victim", ({ failedAt }) => assert.ok(failedAt));
    assert.match(
      cause ?? "",
      /^Preempting: Preempted in order to admit critical pod: critical pod default\/dns lacked cpu \d+m; the fewest and lowest-ranked pods that free it: default\/victim \(Burstable, cpu \d+m\)$/,
    );
  });

  test("a static pod preempts too, but not a critical pod", async () => {
    writeManifest(
      apiNode.node.manifests,
      "static.json",
      podManifest("static", { containers: [{ name: "c", ...cpu(0.5) }] }),
    );
    // Its container ends with 0 at SIGTERM.
    await isPreempted("kept", "Succeeded", undefined);
    await apiNode.runs(`static-${nodeName}`, 60_000);
    await apiNode.runs("dns");
    writeManifest(
      apiNode.node.manifests,
      "too-large.json",
      podManifest("too-large", { containers: [{ name: "c", ...cpu(0.5) }] }),
    );
    await waitFor(async () => {
      const { status } = await apiNode.pod(`too-large-${nodeName}`);
      assert.equal(status?.reason, "UnexpectedAdmissionError", JSON.stringify(status));
    }, 60_000);
  });
});
