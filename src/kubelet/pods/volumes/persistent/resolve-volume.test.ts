import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StorageApi } from "../../../../../test/csi/storage-api.ts";
import { fakePod } from "../../../../lib/model/fake-pod.ts";
import type { PodUid, Volume } from "../../../../lib/model/pod.ts";
import { resolveClaim } from "./resolve-volume.ts";
import { kubeVolumeApi } from "./volume-api.ts";

const pod = fakePod({ metadata: { name: "web", uid: "pod-uid" as PodUid } });
const byClaim: Volume = { name: "data", persistentVolumeClaim: { claimName: "c" } };
const ephemeral: Volume = { name: "data", ephemeral: { volumeClaimTemplate: { spec: {} } } };
const never = new AbortController().signal;

type Parts = { meta?: object; spec?: object; status?: object };
const claimNamed = (name: string, { meta, spec, status }: Parts = {}) => ({
  metadata: { name, namespace: "default", uid: "claim-uid", ...meta },
  spec: { volumeName: "pv", ...spec },
  status: { phase: "Bound", capacity: { storage: "1Gi" }, ...status },
});
const pv = (spec: object = {}) => ({
  metadata: { name: "pv", annotations: { "pv.beta.kubernetes.io/gid": "77" } },
  spec: {
    claimRef: { uid: "claim-uid" },
    capacity: { storage: "2Gi" },
    nfs: { server: "s", path: "/" },
    ...spec,
  },
});

function apiWith(claim: object | undefined, volume: object | undefined, name = "c") {
  const api = new StorageApi();
  if (claim) api.put(`/api/v1/namespaces/default/persistentvolumeclaims/${name}`, claim as never);
  if (volume) api.put("/api/v1/persistentvolumes/pv", volume as never);
  return kubeVolumeApi(api);
}

describe("a PVC", () => {
  it("resolves to the volume that it is bound to, with its name, size and group", async () => {
    const { spec, gid } = await resolveClaim(apiWith(claimNamed("c"), pv()), pod, byClaim, never);
    assert.equal(spec.name, "pv");
    assert.equal(spec.readOnly, false);
    assert.equal(gid, "77");
    const { persistent } = spec;
    assert.deepEqual(persistent?.claim, { namespace: "default", name: "c", uid: "claim-uid" });
    assert.equal(persistent?.mode, "Filesystem");
    assert.equal(persistent?.claimCapacity, "1Gi");
    assert.deepEqual(persistent?.spec.nfs, { server: "s", path: "/" });
  });

  it("is read-only if the pod specifies it, and a block volume if the PersistentVolume is", async () => {
    const readOnly: Volume = { name: "data", persistentVolumeClaim: { claimName: "c", readOnly: true } };
    const api = apiWith(claimNamed("c"), pv({ volumeMode: "Block" }));
    const { spec } = await resolveClaim(api, pod, readOnly, never);
    assert.deepEqual([spec.readOnly, spec.persistent?.mode], [true, "Block"]);
  });

  it("can be used while it is being deleted and protected", async () => {
    const meta = { deletionTimestamp: "t", finalizers: ["kubernetes.io/pvc-protection"] };
    await resolveClaim(apiWith(claimNamed("c", { meta }), pv()), pod, byClaim, never);
  });

  it("must be owned by the pod if it is of a generic ephemeral volume", async () => {
    const meta = { ownerReferences: [{ uid: "pod-uid", controller: true }] };
    const api = apiWith(claimNamed("web-data", { meta }), pv(), "web-data");
    const { spec } = await resolveClaim(api, pod, ephemeral, never);
    assert.equal(spec.persistent?.claim.name, "web-data");
    const notOwned = apiWith(claimNamed("web-data"), pv(), "web-data");
    await assert.rejects(resolveClaim(notOwned, pod, ephemeral, never), {
      message: "PVC default/web-data was not created for pod default/web (pod is not owner)",
    });
  });

  const rejected: [string, object | undefined, object | undefined, string][] = [
    [
      "is missing",
      undefined,
      undefined,
      'failed to fetch PVC from API server: persistentvolumeclaims "c" not found',
    ],
    ["is not bound", claimNamed("c", { status: { phase: "Pending" } }), undefined, "PVC is not bound"],
    ["is being deleted", claimNamed("c", { meta: { deletionTimestamp: "t" } }), pv(), "PVC is being deleted"],
    [
      "names no volume",
      claimNamed("c", { spec: { volumeName: "" } }),
      pv(),
      "PVC has empty pvc.Spec.VolumeName",
    ],
    [
      "has no volume",
      claimNamed("c"),
      undefined,
      'failed to fetch PV pv from API server: persistentvolumes "pv" not found',
    ],
    [
      "names a volume by a path",
      claimNamed("c", { spec: { volumeName: "../../x" } }),
      undefined,
      "PVC has an invalid pvc.Spec.VolumeName ../../x: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      "gets a volume of another name",
      claimNamed("c"),
      { ...pv(), metadata: { name: "../../x" } },
      "the API server returned PV object ../../x instead of pv",
    ],
    [
      "is not referenced by its volume",
      claimNamed("c"),
      pv({ claimRef: undefined }),
      "found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim",
    ],
    [
      "is not the claim of its volume",
      claimNamed("c"),
      pv({ claimRef: { uid: "other" } }),
      "found PV object pv but its pv.Spec.ClaimRef.UID other does not point to claim.UID claim-uid",
    ],
  ];
  for (const [what, claim, volume, reason] of rejected)
    it(`is rejected with the reason if it ${what}`, () =>
      assert.rejects(resolveClaim(apiWith(claim, volume), pod, byClaim, never), {
        message: `error processing PVC default/c: ${reason}`,
      }));
});
