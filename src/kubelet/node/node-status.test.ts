import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { wallTime } from "../../lib/base/time.ts";
import { FeatureGates } from "../../lib/config/feature-gates.ts";
import { declaredFeatures } from "./declared-features.ts";
import { fakeInputs, fakeSettings } from "./fake-info.ts";
import { nodeImages } from "./images.ts";
import { startEvents } from "./node-events.ts";
import { initialNode } from "./node-object.ts";
import { planStatus, schedulableEvent, withSystemLabels } from "./node-status.ts";
import type { NodeMeta, NodeObject } from "./node-types.ts";

const observedUrl = new URL("../../../test/fixtures/recorded/node.json", import.meta.url);
const observed = JSON.parse(readFileSync(observedUrl, "utf8")) as NodeObject;
type ObservedMeta = NodeMeta & { creationTimestamp: string };
const registeredAt = Date.parse("2026-11-15T03:07:31Z");

describe("the node built from info", () => {
  it("equals the recorded one, except for fields of the API server", () => {
    const { node, problems } = planStatus(initialNode(fakeSettings()), fakeInputs(), wallTime(registeredAt));
    const { uid, resourceVersion, creationTimestamp, ...metadata } = observed.metadata as ObservedMeta;
    // The not-ready taint is added by the API server.
    assert.deepEqual(node, { ...observed, metadata, spec: {} });
    assert.deepEqual(problems, []);
    assert.ok(uid && resourceVersion && creationTimestamp);
  });

  it("is unchanged when computed again", () => {
    const { node, events } = planStatus(observed, fakeInputs(), wallTime(registeredAt));
    assert.deepEqual(node, observed);
    assert.deepEqual(events, []);
  });
});

const initial = initialNode(fakeSettings());
const present = planStatus(initial, fakeInputs(), wallTime(registeredAt)).node;

describe("a status", () => {
  // parity: event Rebooted
  it("reports a reboot", () => {
    const system = { ...fakeInputs().system, bootId: "other" };
    const { events, node } = planStatus(present, fakeInputs({ system }), wallTime(registeredAt));
    const message = "Node bench-node has been rebooted, boot id: other";
    assert.deepEqual(events, [{ type: "Warning", reason: "Rebooted", message }]);
    assert.equal(node.status.nodeInfo?.bootID, "other");
  });

  it("keeps values that could not be determined, and reports which", () => {
    const addresses = { ...fakeInputs().addresses, defaultRouteIps: {} };
    const info = fakeInputs({ addresses, images: undefined, supplementalGroupsPolicy: undefined });
    const { node, problems } = planStatus(present, info, wallTime(registeredAt));
    assert.deepEqual(node.status.addresses, present.status.addresses);
    assert.deepEqual(node.status.images, present.status.images);
    assert.deepEqual(node.status.features, present.status.features);
    assert.equal(problems.length, 2);
  });

  it("is not ready without local storage accounting", () => {
    const machine = { ...fakeInputs().machine!, storageBytes: undefined };
    const message = (localStorage: boolean) =>
      planStatus(
        initial,
        fakeInputs({ machine, localStorage }),
        wallTime(registeredAt),
      ).node.status.conditions?.at(-1)?.message;
    assert.equal(message(true), "missing node capacity for resources: ephemeral-storage");
    assert.equal(message(false), "kubelet is posting ready status");
  });

  it("has the name of a runtime whose version is unknown", () => {
    const runtime = { name: "containerd", version: undefined };
    const { node } = planStatus(initial, fakeInputs({ runtime }), wallTime(registeredAt));
    assert.equal(node.status.nodeInfo?.containerRuntimeVersion, "containerd://Unknown");
  });

  it("has the version of the runtime in the form of the reference kubelet", () => {
    const runtime = { name: "containerd", version: "v1.7.13~ds1" };
    const { node } = planStatus(initial, fakeInputs({ runtime }), wallTime(registeredAt));
    assert.equal(node.status.nodeInfo?.containerRuntimeVersion, "containerd://1.7.13");
  });

  it("reports swap if the machine has it", () => {
    const system = { ...fakeInputs().system, swapBytes: 4096n };
    assert.deepEqual(planStatus(initial, fakeInputs({ system }), wallTime(0)).node.status.nodeInfo?.swap, {
      capacity: 4096,
    });
  });

  it("has the volumes in use once they are known, and does not change the attached ones", () => {
    const attached = {
      ...present,
      status: { ...present.status, volumesInUse: ["a"], volumesAttached: [{ name: "a", devicePath: "/d" }] },
    };
    assert.deepEqual(planStatus(attached, fakeInputs(), wallTime(0)).node.status.volumesInUse, ["a"]);
    const { status } = planStatus(attached, fakeInputs({ volumesInUse: [] }), wallTime(0)).node;
    assert.deepEqual(status.volumesInUse, []);
    assert.deepEqual(status.volumesAttached, attached.status.volumesAttached);
  });

  it("annotates the configured addresses for a cloud provider, and removes the annotation otherwise", () => {
    const key = "alpha.kubernetes.io/provided-node-ip";
    const withNodeIps = { ...fakeInputs().addresses, nodeIps: ["192.0.2.10"], externalCloudProvider: true };
    const annotated = planStatus(present, fakeInputs({ addresses: withNodeIps }), wallTime(0)).node;
    assert.equal(annotated.metadata.annotations?.[key], "192.0.2.10");
    const cleaned = planStatus(annotated, fakeInputs(), wallTime(0)).node;
    assert.deepEqual(cleaned.metadata.annotations, present.metadata.annotations);
  });
});

describe("the node to register", () => {
  it("has the configured labels, which override the defaults", () => {
    const labels = { "kubernetes.io/hostname": "h", team: "a" };
    const node = initialNode(fakeSettings({ labels }));
    assert.equal(node.metadata.labels?.["kubernetes.io/hostname"], "h");
    assert.equal(node.metadata.labels?.team, "a");
    assert.equal(node.metadata.labels?.["kubernetes.io/os"], "linux");
  });

  it("has the configured taints, then that of a pending cloud provider", () => {
    const taint = { key: "a", value: "b", effect: "NoExecute" };
    const cloud = {
      key: "node.cloudprovider.kubernetes.io/uninitialized",
      value: "true",
      effect: "NoSchedule",
    };
    assert.deepEqual(initialNode(fakeSettings()).spec, {});
    const settings = fakeSettings({ taints: [taint], externalCloudProvider: true, providerId: "aws:///i-1" });
    assert.deepEqual(initialNode(settings).spec, { providerID: "aws:///i-1", taints: [taint, cloud] });
  });

  it("is not annotated where the agent attaches volumes itself", () => {
    assert.equal(
      initialNode(fakeSettings({ controllerAttachDetach: false })).metadata.annotations,
      undefined,
    );
  });
});

describe("parts of a status", () => {
  it("images: the largest, at most five names, digests before tags", () => {
    const image = (sizeBytes: number, digests: number, tags: number) => ({
      repoDigests: Array.from({ length: digests }, (_, i) => `d${i}`),
      repoTags: Array.from({ length: tags }, (_, i) => `t${i}`),
      sizeBytes,
    });
    const images = [image(1, 0, 1), image(3, 2, 9), image(2, 1, 0)];
    const largest = { names: ["d0", "d1", "t0", "t1", "t2"], sizeBytes: 3 };
    assert.deepEqual(nodeImages(images, 2), [largest, { names: ["d0"], sizeBytes: 2 }]);
    assert.equal(nodeImages(images, -1).length, 3);
    assert.deepEqual(nodeImages(images, 0), []);
  });

  it("images of one size keep their order", () => {
    const image = (name: string) => ({ repoDigests: [], repoTags: [name], sizeBytes: 1 });
    assert.deepEqual(nodeImages([image("b"), image("a")], 50), nodeImages([image("a"), image("b")], 50));
  });

  // parity: gate UserNamespacesHostNetworkSupport=true, gate UserNamespacesHostNetworkSupport=false, gate NodeDeclaredFeatures=false, gate NodeDeclaredFeatures=true
  it("features are declared if their gate is on and the runtime supports them", () => {
    const declared = (settings: Record<string, boolean>, userNamespacesHostNetwork = true) => {
      const gates = new FeatureGates(settings);
      return declaredFeatures(gates, {
        userNamespacesHostNetwork: () => userNamespacesHostNetwork,
      });
    };
    assert.deepEqual(declared({}), observed.status.declaredFeatures);
    assert.deepEqual(
      declared({ ExtendWebSocketsToKubelet: false }),
      observed.status.declaredFeatures?.slice(1),
    );
    assert.equal(declared({ NodeDeclaredFeatures: false }), undefined);
    const hostNetwork = { UserNamespacesHostNetworkSupport: true };
    assert.ok(declared(hostNetwork)?.includes("UserNamespacesHostNetworkSupport"));
    assert.deepEqual(declared(hostNetwork, false), observed.status.declaredFeatures);
  });

  it("system labels are restored, and the object is copied only if needed", () => {
    assert.equal(withSystemLabels(observed, fakeSettings()), observed);
    const bare = {
      ...observed,
      metadata: { ...observed.metadata, labels: { "kubernetes.io/os": "plan9", a: "b" } },
    };
    const labels = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", a: "b" };
    assert.deepEqual(withSystemLabels(bare, fakeSettings()).metadata.labels, labels);
  });

  // parity: event NodeNotSchedulable, event NodeSchedulable
  it("cordoning is recorded when it changes", () => {
    const cordoned = { ...observed, spec: { unschedulable: true } };
    assert.equal(schedulableEvent(cordoned, false)?.reason, "NodeNotSchedulable");
    assert.equal(schedulableEvent(observed, true)?.reason, "NodeSchedulable");
    assert.equal(schedulableEvent(cordoned, true), undefined);
    assert.equal(schedulableEvent(observed, false), undefined);
  });

  // parity: event Starting, event CgroupV1
  it("an agent that starts records an event, and warns of cgroup v1", () => {
    const reasons = (cgroupVersion: 1 | 2) =>
      startEvents({ cgroupVersion }).map((e) => `${e.type} ${e.reason}`);
    assert.deepEqual(reasons(2), ["Normal Starting"]);
    assert.deepEqual(reasons(1), ["Normal Starting", "Warning CgroupV1"]);
  });
});
