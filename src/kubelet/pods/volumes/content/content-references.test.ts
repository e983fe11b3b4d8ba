import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import { type ContentRef, podsReferencing, volumesReferencing } from "./content-references.ts";

const pod = fakePod({
  spec: {
    volumes: [
      { name: "secret", secret: { secretName: "x" } },
      { name: "config", configMap: { name: "x" } },
      {
        name: "both",
        projected: { sources: [{ secret: { name: "x" } }, { configMap: { name: "x" } }] },
      },
      { name: "trust", projected: { sources: [{ clusterTrustBundle: { name: "x", path: "ca" } }] } },
      {
        name: "certificate",
        projected: {
          sources: [{ podCertificate: { signerName: "a.b/c", keyType: "ED25519", keyPath: "key" } }],
        },
      },
      { name: "empty", emptyDir: {} },
    ],
  },
});

describe("the volumes that reference an object", () => {
  const cases: [string, ContentRef, string[]][] = [
    [
      "a Secret is referenced by secret and projected volumes",
      { kind: "Secret", namespace: "default", name: "x" },
      ["secret", "both"],
    ],
    [
      "a ConfigMap is referenced by configMap and projected volumes",
      { kind: "ConfigMap", namespace: "default", name: "x" },
      ["config", "both"],
    ],
    [
      "an object of another namespace is not referenced",
      { kind: "Secret", namespace: "other", name: "x" },
      [],
    ],
    ["an object of another name is not referenced", { kind: "Secret", namespace: "default", name: "y" }, []],
    [
      "certificates of the pod are referenced by projected volumes",
      { kind: "PodCertificate", uid: pod.metadata.uid },
      ["certificate"],
    ],
    [
      "certificates of another pod are not referenced",
      { kind: "PodCertificate", uid: "another" as PodUid },
      [],
    ],
    ["trust bundles are referenced by projected volumes", { kind: "ClusterTrustBundle" }, ["trust"]],
  ];
  for (const [what, ref, volumes] of cases)
    it(what, () => {
      assert.deepEqual(volumesReferencing(pod, ref), volumes);
      const other = fakePod({ metadata: { uid: "other" as PodUid } });
      assert.deepEqual(podsReferencing([other, pod], ref), volumes.length > 0 ? [pod.metadata.uid] : []);
    });
});
