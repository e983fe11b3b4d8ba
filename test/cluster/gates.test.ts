import assert from "node:assert/strict";
import { test } from "node:test";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import type { PodSpec } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { container, TestCluster } from "./cluster-node.ts";

// parity: gate PreventStaticPodAPIReferences=true, gate PreventStaticPodAPIReferences=false
for (const isPrevented of [true, false])
  test(`a static pod that refers to a Secret ${isPrevented ? "does not run" : "runs if the gate is off"}`, async (t) => {
    const gates = new FeatureGates({ PreventStaticPodAPIReferences: isPrevented });
    const cluster = await TestCluster.start(t, { gates });
    const secret = { name: "s", secret: { secretName: "s", optional: true } };
    await cluster.placeManifest("refers", { volumes: [secret] });
    await cluster.placeManifest("plain");
    await cluster.startAgent();
    await cluster.runs("plain-node-a");
    if (isPrevented) assert.equal(cluster.api.pod("refers-node-a"), undefined);
    else await cluster.runs("refers-node-a");
  });

for (const comparesTaints of [true, false])
  test(`a static pod that tolerates taints by number ${comparesTaints ? "runs if the gate is on" : "is invalid"}`, async (t) => {
    const gates = new FeatureGates({ TaintTolerationComparisonOperators: comparesTaints });
    const cluster = await TestCluster.start(t, { gates });
    await cluster.placeManifest("compares", { tolerations: [{ key: "k", operator: "Gt", value: "1" }] });
    await cluster.placeManifest("plain");
    await cluster.startAgent();
    await cluster.runs("plain-node-a");
    if (comparesTaints) await cluster.runs("compares-node-a");
    else assert.equal(cluster.api.pod("compares-node-a"), undefined);
  });

// parity: gate EventedPLEG=false, gate EventedPLEG=true
for (const [setting, opened] of [
  [undefined, 1],
  [true, 1],
  [false, 0],
] as const)
  test(`EventedPLEG: ${setting} opens ${opened} event stream, and an exit is found`, async (t) => {
    const cluster = await TestCluster.start(t);
    const featureGates: Record<string, boolean> = setting === undefined ? {} : { EventedPLEG: setting };
    await cluster.startAgent({
      config: { ...cluster.config(), featureGates },
      gates: new FeatureGates(featureGates),
    });
    cluster.addPod("job", { restartPolicy: "Never", containers: [container({ command: ["true"] })] });
    await cluster.waitForPod("job", (pod) => assert.equal(pod.status?.phase, "Succeeded"));
    await waitFor(() => assert.equal(cluster.runtime.eventReaders, opened));
  });

// parity: gate PodReadyToStartContainersCondition=true, gate PodReadyToStartContainersCondition=false
for (const enabled of [true, false])
  test(`PodReadyToStartContainersCondition: ${enabled}: the status of a pod ${enabled ? "has" : "does not have"} the condition`, async (t) => {
    const gates = new FeatureGates({ PodReadyToStartContainersCondition: enabled });
    const cluster = await TestCluster.start(t, { gates });
    await cluster.startAgent();
    cluster.addPod("web");
    const { status } = await cluster.runs("web");
    const types = (status?.conditions ?? []).map(({ type }) => type);
    assert.ok(types.includes("Initialized"));
    assert.equal(types.includes("PodReadyToStartContainers"), enabled);
  });

// parity: gate ChangeContainerStatusOnKubeletRestart=true, gate ChangeContainerStatusOnKubeletRestart=false
for (const changes of [true, false])
  test(`until it is probed, a container is ${changes ? "not ready" : "ready"} after a restart of the agent`, async (t) => {
    const gates = new FeatureGates({ ChangeContainerStatusOnKubeletRestart: changes });
    const cluster = await TestCluster.start(t, { gates });
    await cluster.startAgent();
    const readinessProbe = { exec: { command: ["true"] }, periodSeconds: 1, timeoutSeconds: 60 };
    const { metadata } = cluster.addPod("web", { containers: [container({ readinessProbe })] });
    await cluster.runs("web");
    await cluster.stopAgent();
    const { runtime } = cluster;
    const probes = runtime.callsOf("ExecSync").length;
    runtime.faults.add({ method: "ExecSync", effect: { kind: "hang" } });
    await cluster.startAgent();
    await waitFor(() => assert.ok(runtime.callsOf("ExecSync").length > probes));
    if (changes)
      await cluster.waitForPod("web", ({ status }) =>
        assert.equal(status?.containerStatuses?.[0]?.ready, false),
      );
    // The status of a pod that started later is written after the status of this one.
    cluster.addPod("other");
    await cluster.runs("other");
    assert.equal(cluster.api.pod("web")?.status?.containerStatuses?.[0]?.ready, !changes);
    assert.equal(cluster.runningOf(metadata.uid).length, 1);
  });

// parity: gate PLEGOnDemandRelist=true, gate PLEGOnDemandRelist=false
for (const enabled of [true, false])
  test(`PLEGOnDemandRelist: ${enabled}: pods are listed ${enabled ? "on demand" : "by relists only"}, and run`, async (t) => {
    // Events of the runtime list pods too.
    const featureGates = { PLEGOnDemandRelist: enabled, EventedPLEG: false };
    const cluster = await TestCluster.start(t);
    const config = { ...cluster.config(), featureGates };
    await cluster.startAgent({ config, gates: new FeatureGates(featureGates) });
    cluster.addPod("job", { restartPolicy: "Never", containers: [container({ command: ["true"] })] });
    await cluster.waitForPod("job", (pod) => assert.equal(pod.status?.phase, "Succeeded"));
    const lists = cluster.runtime.callsOf("ListContainers").filter(({ request }) => {
      const { filter } = request as { filter?: { labelSelector?: Record<string, string> } };
      return Object.keys(filter?.labelSelector ?? {}).length > 0;
    });
    if (enabled) assert.ok(lists.length > 0);
    else assert.deepEqual(lists, []);
  });

// parity: gate CRIListStreaming=true, gate CRIListStreaming=false
for (const [enabled, streamsLists, streams] of [
  [true, true, true],
  [true, false, false],
  [false, true, false],
] as const)
  test(`CRIListStreaming: ${enabled}: lists are ${streams ? "" : "not "}streamed by a runtime that ${streamsLists ? "can" : "cannot"}`, async (t) => {
    const gates = new FeatureGates({ CRIListStreaming: enabled });
    const cluster = await TestCluster.start(t, { gates }, {}, { streamsLists });
    await cluster.startAgent();
    cluster.addPod("web");
    await cluster.runs("web");
    const streamed = cluster.runtime.callsOf("StreamPodSandboxes", "StreamContainers").length;
    const listed = cluster.runtime.callsOf("ListPodSandbox", "ListContainers").length;
    assert.deepEqual([streamed > 0, listed > 0], [streams, !streams]);
  });

// parity: gate DRAWorkloadResourceClaims=true, gate DRAWorkloadResourceClaims=false
for (const shared of [true, false])
  test(`DRAWorkloadResourceClaims: ${shared}: a pod may ${shared ? "" : "not "}use a claim that is reserved for its group`, async (t) => {
    const gates = new FeatureGates({ DRAWorkloadResourceClaims: shared, GenericWorkload: shared });
    const cluster = await TestCluster.start(t, { gates });
    await cluster.startAgent();
    const group = { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid: "ug" };
    cluster.api.put("resourceclaims", {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "gpus", namespace: "default", uid: "uc" },
      status: {
        allocation: {
          devices: { results: [{ request: "r", driver: "gpu.example", pool: "p", device: "d" }] },
        },
        reservedFor: [group],
      },
    } as unknown as Parameters<typeof cluster.api.put>[1]);
    const { metadata } = cluster.addPod("worker", {
      schedulingGroup: { podGroupName: "g" },
      resourceClaims: [{ name: "gpu", resourceClaimName: "gpus" }],
      containers: [container({ resources: { claims: [{ name: "gpu" }] } })],
    } as Partial<PodSpec>);
    const expected = shared
      ? /DRA driver gpu\.example is not registered/
      : new RegExp(`pod worker \\(${metadata.uid}\\) is not allowed to use ResourceClaim gpus \\(uc\\)`);
    await waitFor(() =>
      assert.match(cluster.events("worker", "FailedPrepareDynamicResources").join("\n"), expected),
    );
  });

// parity: gate RuntimeClassInImageCriApi=true, gate RuntimeClassInImageCriApi=false
for (const passed of [true, false])
  test(`RuntimeClassInImageCriApi: ${passed}: the runtime handler of a pod is ${passed ? "" : "not "}part of the names of its images`, async (t) => {
    const gates = new FeatureGates({ RuntimeClassInImageCriApi: passed });
    const cluster = await TestCluster.start(t, { gates });
    cluster.api.put("runtimeclasses", { metadata: { name: "fast" }, handler: "runc" } as never);
    await cluster.startAgent();
    const { metadata } = cluster.addPod("web", {
      runtimeClassName: "fast",
      volumes: [{ name: "v", image: { reference: fakeImages.busybox, pullPolicy: "Never" } }],
      containers: [container({ volumeMounts: [{ name: "v", mountPath: "/v" }] })],
    } as Partial<PodSpec>);
    await cluster.runs("web");
    const handler = passed ? "runc" : "";
    const statuses = cluster.runtime
      .callsOf("ImageStatus")
      .map(({ request }) => (request as { image?: { runtimeHandler?: string } }).image?.runtimeHandler ?? "");
    assert.ok(statuses.length > 0 && statuses.every((each) => each === handler), `${statuses}`);
    const mounts = cluster.runningOf(metadata.uid).flatMap(({ config }) => config.mounts);
    const [image] = mounts.flatMap((mount) => mount.image ?? []);
    assert.equal(image?.runtimeHandler, handler);
  });

// parity: gate NodeDeclaredFeatures=true, gate NodeDeclaredFeatures=false
for (const enabled of [true, false])
  test(`NodeDeclaredFeatures: ${enabled}: features of the node are ${enabled ? "" : "not "}declared, and updates ${enabled ? "" : "not "}checked for others`, async (t) => {
    const gates = new FeatureGates({
      NodeDeclaredFeatures: enabled,
      InPlacePodLevelResourcesVerticalScaling: false,
      ...(!enabled && { InPlacePodVerticalScalingInitContainers: false }),
    });
    const cluster = await TestCluster.start(t, { gates });
    await cluster.startAgent();
    const resources = (cpu: string) => ({ limits: { cpu }, requests: { cpu } });
    cluster.addPod("web", { resources: resources("1") });
    const pod = structuredClone(await cluster.runs("web"));
    cluster.api.put("pods", { ...pod, spec: { ...pod.spec, resources: resources("2") } } as never);
    // Later updates are handled, and their events sent, after this one.
    cluster.addPod("later");
    await cluster.runs("later");
    await waitFor(() => assert.equal(cluster.events("later", "Started").length, 1));
    const missing =
      "Pod requires node features that are not available: InPlacePodLevelResourcesVerticalScaling";
    const events = () => cluster.events("web", "FailedNodeDeclaredFeaturesCheck");
    await waitFor(() => assert.deepEqual(events(), enabled ? [missing] : []));
    const { status } = cluster.api.all("nodes")[0] as unknown as { status: { declaredFeatures?: unknown } };
    assert.equal(status.declaredFeatures !== undefined, enabled);
  });
