import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { AgentLog } from "../cluster/agent-log.ts";
import { container, nodeName, TestCluster } from "../cluster/cluster-node.ts";
import type { ApiObject } from "../cluster/fake-api.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { type Release, releases, skewTable } from "./api-releases.ts";
import { knownResources, ReleaseApi } from "./release-api.ts";

const root = new URL("../../", import.meta.url);

test("the document has the table of releases", () => {
  const text = readFileSync(new URL("docs/JOIN-A-CLUSTER.md", root), "utf8");
  assert.ok(text.includes(`\n${skewTable()}\n`), `expected in docs/JOIN-A-CLUSTER.md:\n${skewTable()}`);
});

test("the sources name no group and version that is not in the table", () => {
  const known = new Set([...knownResources].map((resource) => resource.split(" ")[0]!));
  const files = globSync("src/kubelet/**/*.ts", { cwd: root }).filter(
    (file) => !/test\.ts$|fake-/.test(file),
  );
  const named = files.flatMap((file) =>
    [...readFileSync(new URL(file, root), "utf8").matchAll(/["`]\/apis?\/(?:([a-z0-9.]+)\/)?(v\d\w*)/g)].map(
      ([, group, version]) => (group ? `${group}/${version}` : version!),
    ),
  );
  // The newest version that the API server serves is used.
  assert.deepEqual(new Set([...named, "certificates.k8s.io/v1beta1"]), known);
});

/** A node whose status and lease are updated often, so that a repeated write would be counted soon. */
async function start(t: Parameters<typeof TestCluster.start>[0], release: Release) {
  const cluster = await TestCluster.start(t);
  const log = new AgentLog();
  const api = new ReleaseApi(cluster.api, release);
  const config = { ...cluster.config(), nodeStatusUpdateFrequency: 100, nodeLeaseDurationSeconds: 1 };
  const start = () =>
    cluster.startAgent({
      config,
      logger: log.logger,
      cluster: { transport: api, kubeletVersion: "v1.36.4" },
    });
  const count = (pattern: RegExp) => cluster.api.requests.filter((request) => pattern.test(request)).length;
  /** Waits for lease renewals: a quarter of a second each. */
  const renewed = (times: number) => {
    const from = count(/^PUT leases/);
    return waitFor(() => assert.ok(count(/^PUT leases/) >= from + times, log.lines.join("\n")));
  };
  return { cluster, log, api, start, count, renewed };
}

describe("an API server of another release", { concurrency: true }, () => {
  for (const release of releases)
    test(`${release}: the node is ready, pods run, and no write is repeated`, async (t) => {
      const { cluster, log, api, start: startAgent, count, renewed } = await start(t, release);
      await startAgent();
      await cluster.placeManifest("static");
      cluster.addPod("web", { containers: [container()], dnsPolicy: "Default" });
      const limits = { limits: { cpu: "100m", memory: "64Mi" }, requests: { cpu: "10m", memory: "16Mi" } };
      cluster.addPod("pod-level", { resources: limits, containers: [container()], dnsPolicy: "Default" });
      for (const name of ["web", "pod-level", `static-${nodeName}`]) await cluster.runs(name);
      await renewed(2);
      const patches = () => count(/^PATCH (nodes|pods)/);
      const before = patches();
      await renewed(4);
      assert.ok(patches() - before <= 1, `${patches() - before} patches: ${cluster.api.requests.slice(-30)}`);
      assert.deepEqual(
        [...api.requested].filter((resource) => !knownResources.has(resource)),
        [],
      );
      const dropped = log.messages().filter((line) => line.includes("does not store all fields of the node"));
      assert.equal(dropped.length, release < "v1.36" ? 1 : 0, log.lines.join("\n"));
      const { status } = cluster.api.get("nodes", "", nodeName) as unknown as NodeObject;
      assert.equal(status.declaredFeatures !== undefined, release >= "v1.36");
      const problems = log.problems().filter((line) => !/cgroup v1|ClusterDNS/.test(line));
      assert.deepEqual(problems, []);
    });

  test("v1.33: a pod with a resource claim waits with an event, and others run", async (t) => {
    const { cluster, api, log, start: startAgent, renewed } = await start(t, "v1.33");
    await startAgent();
    cluster.addPod("claims", {
      containers: [container({ resources: { claims: [{ name: "gpu" }] } })],
      resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }],
      dnsPolicy: "Default",
    });
    cluster.addPod("web", { dnsPolicy: "Default" });
    await cluster.runs("web");
    const events = () => cluster.events("claims", "FailedPrepareDynamicResources");
    await waitFor(() => assert.equal(events().length, 1, log.lines.join("\n")));
    assert.match(events()[0]!, /could not find the requested resource/);
    const requests = () => api.missing.filter((resource) => resource.includes("resourceclaims")).length;
    const before = requests();
    await renewed(4);
    assert.ok(requests() - before <= 3, `${requests() - before} requests in a second`);
  });

  test("v1.37: fields that the agent does not know are kept", async (t) => {
    const { cluster, start: startAgent, renewed } = await start(t, "v1.37");
    const spec = { podPreemptionPolicy: { disableResizePreemption: true } };
    const status = { nodeInfo: { runningInUserNamespace: true } };
    cluster.api.put("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: nodeName }, spec, status });
    const pod = cluster.addPod("web", { dnsPolicy: "Default" });
    const volumeHealth = [{ name: "data", healthConditions: [] }];
    const unknown = { spec: { ...pod.spec, evictionResponders: [{ name: "a" }] } };
    cluster.api.put("pods", {
      ...pod,
      ...unknown,
      status: { ...pod.status, volumeHealth },
    } as unknown as ApiObject);
    await startAgent();
    const running = (await cluster.runs("web")) as Pod & { status: { volumeHealth?: unknown } };
    assert.deepEqual(running.status.volumeHealth, volumeHealth);
    assert.deepEqual(running.spec, unknown.spec);
    await renewed(2);
    assert.deepEqual(cluster.api.get("nodes", "", nodeName)?.spec, spec);
  });
});
