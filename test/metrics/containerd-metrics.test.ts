import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { MeteredNode } from "./metered-node.ts";

describeOnContainerd("metrics of a running agent", (version) => {
  let node: MeteredNode;
  before(async () => {
    node = await MeteredNode.start(version);
    await node.apiNode.addPod(
      "web",
      { volumeMounts: [{ name: "data", mountPath: "/data" }] },
      { volumes: [{ name: "data", emptyDir: {} }] },
    );
    await node.apiNode.runs("web", 60_000);
  });
  after(() => node?.destroy());

  // parity: metric /metrics kubelet_volume_metric_collection_duration_seconds
  it("the first scrape has the duration of the volume measurement", async () => {
    const { samples = [] } =
      (await node.metrics("/metrics")).get("kubelet_volume_metric_collection_duration_seconds") ?? {};
    const sources = samples.filter(({ name }) => name.endsWith("_count"));
    assert.deepEqual(new Set(sources.map(({ labels }) => labels.metric_source)), new Set(["du", "statfs"]));
  });

  it("only a runtime without RuntimeConfig is reported as losing support", async () => {
    const found = (await node.metrics("/metrics")).get("kubelet_cri_losing_support");
    assert.deepEqual(
      found?.samples.map(({ labels, value }) => [labels, value]),
      version === "1.6" ? [[{ version: "1.37.0" }, 1]] : undefined,
    );
  });

  it("registered metrics are counted by stability level", async () => {
    const metrics = await node.metrics("/metrics");
    const samples = metrics.get("registered_metrics_total")?.samples ?? [];
    const registered = new Map(samples.map(({ labels, value }) => [labels.stability_level, value]));
    assert.deepEqual(
      [...registered.keys()].sort((a = "", b = "") => (a < b ? -1 : 1)),
      [...["ALPHA", "BETA", "INTERNAL", "STABLE"]],
    );
    assert.ok((registered.get("ALPHA") ?? 0) > 50, JSON.stringify([...registered]));
  });

  it("tasks of a container are counted by their state", async () => {
    await waitFor(async () => {
      const { samples = [] } = (await node.metrics("/metrics/cadvisor")).get("container_tasks_state") ?? {};
      const ofWeb = samples.filter(({ labels }) => labels.pod === "web" && labels.container === "c");
      const states = Object.fromEntries(ofWeb.map(({ labels, value }) => [labels.state, value]));
      assert.ok((states.sleeping ?? 0) >= 1, JSON.stringify(states));
      assert.deepEqual([states.stopped, states.uninterruptible, states.iowaiting], [0, 0, 0]);
    });
  });

  it("the series of a sandbox have its pause image", async () => {
    const { samples = [] } = (await node.metrics("/metrics/cadvisor")).get("container_last_seen") ?? {};
    const sandbox = samples.find(
      ({ labels: { pod, name, container } }) => pod === "web" && name !== "" && container === "",
    );
    assert.match(sandbox?.labels.image ?? "", /pause/);
  });
});
