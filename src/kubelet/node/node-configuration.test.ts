import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withDefaults, withFileDefaults } from "../../lib/config/defaults.ts";
import { FeatureGates } from "../../lib/config/feature-gates.ts";
import { defaultFlags } from "../../lib/config/flags/kubelet-flags.ts";
import type { PartialConfiguration } from "../../lib/config/kubelet-configuration.ts";
import { nodeConfiguration } from "./node-configuration.ts";

const gates = new FeatureGates();
const of = (config: PartialConfiguration = {}, flags = {}, reservedCpus = 0) =>
  nodeConfiguration(
    withDefaults(withFileDefaults(config), gates),
    { ...defaultFlags(), ...flags },
    gates,
    reservedCpus,
  );

describe("the node configuration", () => {
  it("equals the recorded one by default", () => {
    const { info, manager, settings, nodeIps, leaseSeconds, requestTimeoutMs } = of();
    assert.deepEqual(info.pods, { maxPods: 110, podsPerCore: 0 });
    assert.equal(info.reservations.evictionHard?.["memory.available"], "100Mi");
    assert.deepEqual([info.maxImages, info.port, info.localStorage], [50, 10250, true]);
    assert.deepEqual(manager, {
      registerNode: true,
      getOnExistsOnly: false,
      updateFrequencyMs: 10_000,
      reportFrequencyMs: 300_000,
    });
    assert.deepEqual(settings, {
      labels: {},
      taints: [],
      externalCloudProvider: false,
      controllerAttachDetach: true,
      providerId: "",
    });
    assert.deepEqual([nodeIps, leaseSeconds, requestTimeoutMs], [[], 40, 10_000]);
  });

  it("contains the configured values", () => {
    const config: PartialConfiguration = {
      registerWithTaints: [{ key: "a", value: "", effect: "NoSchedule" }],
      providerID: "p",
      enableControllerAttachDetach: false,
      localStorageCapacityIsolation: false,
      registerNode: false,
      nodeStatusMaxImages: -1,
      nodeLeaseDurationSeconds: 4,
      kubeReserved: { cpu: "1" },
    };
    const flags = { cloudProvider: "external", nodeIP: "192.0.2.1, 2001:db8::1", nodeLabels: { a: "b" } };
    const configured = of(config, flags, 2);
    assert.deepEqual(configured.settings, {
      labels: { a: "b" },
      taints: [{ key: "a", effect: "NoSchedule" }],
      externalCloudProvider: true,
      controllerAttachDetach: false,
      providerId: "p",
    });
    assert.deepEqual(configured.nodeIps, ["192.0.2.1", "2001:db8::1"]);
    assert.equal(configured.manager.registerNode, false);
    assert.equal(configured.info.localStorage, false);
    assert.equal(configured.info.maxImages, -1);
    assert.deepEqual(configured.info.reservations.kubeReserved, { cpu: "1" });
    assert.equal(configured.info.reservations.reservedCpus, 2);
    assert.equal(configured.requestTimeoutMs, 4_000);
  });
});
