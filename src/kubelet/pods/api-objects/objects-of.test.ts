import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodSpec } from "../../../lib/model/pod.ts";
import { objectsOf } from "./objects-of.ts";

const ref = { name: "x" };
const volume = (source: object) => ({ volumes: [{ name: "v", ...source }] }) as Partial<PodSpec>;
const secretRef = { secretRef: ref };

const table: [place: string, spec: object, refs: string[]][] = [
  ["nothing", {}, []],
  ["imagePullSecrets, without empty names", { imagePullSecrets: [ref, { name: "" }, {}] }, ["Secret x"]],
  [
    "env of a container",
    {
      containers: [
        {
          env: [
            { name: "A", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } },
            { name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } },
            { name: "C", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "D", value: "d" },
          ],
        },
      ],
    },
    ["ConfigMap c", "Secret s"],
  ],
  [
    "envFrom of an init container",
    { initContainers: [{ name: "i", envFrom: [{ configMapRef: ref }, { secretRef: { name: "s" } }] }] },
    ["ConfigMap x", "Secret s"],
  ],
  [
    "envFrom of an ephemeral container",
    { ephemeralContainers: [{ name: "e", envFrom: [{ secretRef: ref }] }] },
    ["Secret x"],
  ],
  ["a ConfigMap volume", volume({ configMap: ref }), ["ConfigMap x live"]],
  ["a volume of a secret", volume({ secret: { secretName: "x" } }), ["Secret x live"]],
  [
    "a projected volume",
    volume({
      projected: {
        sources: [{ secret: ref }, { configMap: { name: "c" } }, { serviceAccountToken: { path: "t" } }],
      },
    }),
    ["ConfigMap c live", "Secret x live"],
  ],
  ["csi", volume({ csi: { driver: "d", nodePublishSecretRef: ref } }), ["Secret x live"]],
  ["azureFile", volume({ azureFile: { secretName: "x", shareName: "s" } }), ["Secret x live"]],
  ["cephfs", volume({ cephfs: { monitors: [], ...secretRef } }), ["Secret x live"]],
  ["cinder", volume({ cinder: { volumeID: "v", ...secretRef } }), ["Secret x live"]],
  ["flexVolume", volume({ flexVolume: { driver: "d", ...secretRef } }), ["Secret x live"]],
  ["iscsi", volume({ iscsi: secretRef }), ["Secret x live"]],
  ["rbd", volume({ rbd: secretRef }), ["Secret x live"]],
  ["scaleIO", volume({ scaleIO: secretRef }), ["Secret x live"]],
  ["storageos", volume({ storageos: secretRef }), ["Secret x live"]],
  [
    "named twice, once in a volume: one reference, which is live",
    { ...volume({ secret: { secretName: "x" } }), imagePullSecrets: [ref] },
    ["Secret x live"],
  ],
  [
    "of the same name, but not the same kind",
    { containers: [{ envFrom: [{ secretRef: ref }, { configMapRef: ref }] }] },
    ["ConfigMap x", "Secret x"],
  ],
];
for (const [place, spec, expected] of table)
  test(`objects of a pod: ${place}`, () => {
    const refs = objectsOf(fakePod({ spec, metadata: { namespace: "ns" } }));
    assert.ok(refs.every(({ namespace }) => namespace === "ns"));
    const texts = refs.map(({ kind, name, live }) => `${kind} ${name}${live ? " live" : ""}`);
    assert.deepEqual(
      texts.sort((a, b) => (a < b ? -1 : 1)),
      expected,
    );
  });
