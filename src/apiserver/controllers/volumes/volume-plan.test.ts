import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ApiObject } from "../../storage/object.ts";
import { planVolumes, type VolumeState } from "./volume-plan.ts";

function volume(name: string, spec: object = {}, phase = "Available"): ApiObject {
  return {
    metadata: { name, uid: `u-${name}`, labels: { disk: name } },
    spec: { capacity: { storage: "5Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
    status: { phase },
  };
}
function claim(spec: object = {}, phase = "Pending", metadata: object = {}): ApiObject {
  return {
    metadata: { name: "c", namespace: "a", uid: "u-c", ...metadata },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
    status: { phase },
  };
}
const ref = (more: object = {}) => ({ claimRef: { name: "c", namespace: "a", ...more } });
const storageClass = (name: string, more: object = {}): ApiObject => ({
  metadata: { name, uid: name },
  ...more,
});

function steps(state: Partial<VolumeState>): string[] {
  const all = { claims: [], volumes: [], classes: [], used: new Set<string>(), ...state };
  return planVolumes(all).map((step) => {
    switch (step.do) {
      case "bind":
        return `bind ${step.volume.metadata.name}`;
      case "set phase":
        return `${step.object.metadata.name} is ${step.phase}`;
      case "provision":
        return `provision ${step.provisioner}`;
      default:
        return `${step.reason}: ${step.message}`;
    }
  });
}

describe("PVs and PVCs", () => {
  const unset = "FailedBinding: no persistent volumes available for this claim and no storage class is set";
  const cases: [string, Partial<VolumeState>, string[]][] = [
    ["a new volume is available", { volumes: [volume("v", {}, "Pending")] }, ["v is Available"]],
    [
      "a PVC gets the smallest PV that is large enough",
      {
        claims: [claim()],
        volumes: [
          volume("big"),
          volume("fit", { capacity: { storage: "1Gi" } }),
          volume("small", { capacity: { storage: "1Mi" } }),
        ],
      },
      ["bind fit"],
    ],
    [
      "a PV is bound to one PVC only",
      { claims: [claim(), claim({}, "Pending", { name: "d", uid: "u-d" })], volumes: [volume("v")] },
      ["bind v", unset],
    ],
    [
      "a PV whose claimRef names the PVC is preferred",
      { claims: [claim()], volumes: [volume("fit", { capacity: { storage: "1Gi" } }), volume("own", ref())] },
      ["bind own"],
    ],
    [
      "a PV whose claimRef names another PVC is not bound",
      { claims: [claim()], volumes: [volume("v", { claimRef: { name: "d", namespace: "a" } })] },
      [unset],
    ],
    [
      "the PV must have the requested access modes",
      { claims: [claim({ accessModes: ["ReadWriteMany"] })], volumes: [volume("v")] },
      [unset],
    ],
    [
      "the storage classes must be equal",
      { claims: [claim()], volumes: [volume("v", { storageClassName: "x" })] },
      [unset],
    ],
    [
      "the volume modes must be equal",
      { claims: [claim({ volumeMode: "Block" })], volumes: [volume("v")] },
      [unset],
    ],
    [
      "a PVC may select PVs by label",
      {
        claims: [claim({ selector: { matchLabels: { disk: "w" } } })],
        volumes: [volume("v"), volume("w", { capacity: { storage: "9Gi" } })],
      },
      ["bind w"],
    ],
    [
      "a PVC may name its PV",
      {
        claims: [claim({ volumeName: "v" })],
        volumes: [volume("v"), volume("w", { capacity: { storage: "1Gi" } })],
      },
      ["bind v"],
    ],
    [
      "a bound pair is not changed",
      { claims: [claim({ volumeName: "v" }, "Bound")], volumes: [volume("v", ref({ uid: "u-c" }), "Bound")] },
      [],
    ],
    [
      "an incomplete binding is completed",
      { claims: [claim()], volumes: [volume("v", ref({ uid: "u-c" }), "Bound")] },
      ["bind v"],
    ],
    [
      "a PV whose PVC is gone is Released",
      { volumes: [volume("v", ref({ uid: "u-c" }), "Bound")] },
      ["v is Released"],
    ],
    [
      "a new PVC of the same name does not keep it bound",
      {
        claims: [claim({}, "Pending", { uid: "new" })],
        volumes: [volume("v", ref({ uid: "u-c" }), "Bound")],
      },
      [unset, "v is Released"],
    ],
    [
      "a PVC whose PV no longer exists is Lost",
      { claims: [claim({ volumeName: "v" }, "Bound")] },
      ["c is Lost"],
    ],
    [
      "a class that does not exist",
      { claims: [claim({ storageClassName: "x" })] },
      ['ProvisioningFailed: storageclass.storage.k8s.io "x" not found'],
    ],
    [
      "a class with a provisioner",
      { claims: [claim({ storageClassName: "x" })], classes: [storageClass("x", { provisioner: "p.io" })] },
      ["provision p.io"],
    ],
    [
      "a class with WaitForFirstConsumer, before a pod uses the PVC",
      {
        claims: [claim({ storageClassName: "x" })],
        volumes: [volume("v", { storageClassName: "x" })],
        classes: [storageClass("x", { volumeBindingMode: "WaitForFirstConsumer" })],
      },
      ["WaitForFirstConsumer: waiting for first consumer to be created before binding"],
    ],
    [
      "a class with WaitForFirstConsumer, after a pod uses the PVC",
      {
        claims: [claim({ storageClassName: "x" })],
        volumes: [volume("v", { storageClassName: "x" })],
        classes: [storageClass("x", { volumeBindingMode: "WaitForFirstConsumer" })],
        used: new Set(["a/c"]),
      },
      ["bind v"],
    ],
  ];
  for (const [rule, state, expected] of cases) test(rule, () => assert.deepEqual(steps(state), expected));
});
