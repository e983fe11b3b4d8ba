import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Unstructured } from "../definition.ts";
import { StatusError } from "../status-error.ts";
import { resourceOf } from "./definitions.ts";
import { testKinds } from "./fixtures.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("new objects", () => {
  async function created(resource: string, object: object): Promise<Unstructured> {
    const { objects } = testKinds();
    const draft = { metadata: { name: "x", namespace: "default" }, ...object };
    return await objects.create(resource, draft);
  }

  test("stringData of a secret is merged into data, and takes precedence", async () => {
    const secret = await created("secrets", {
      data: { a: base64("1"), b: base64("2") },
      stringData: { a: "3" },
    });
    assert.deepEqual(secret.data, { a: base64("3"), b: base64("2") });
    assert.equal(secret.stringData, undefined);
    assert.equal(secret.type, "Opaque");
  });

  test("a namespace gets its name label, phase Active and the kubernetes finalizer", async () => {
    const { objects, definitions } = testKinds();
    const found = await objects.create("namespaces", {
      metadata: { name: "a" },
      status: { phase: "Terminating" },
    });
    assert.deepEqual(found.metadata.labels, { "kubernetes.io/metadata.name": "a" });
    assert.deepEqual(found.status, { phase: "Active" });
    assert.deepEqual(found.spec, { finalizers: ["kubernetes"] });
    const definition = definitions.find(({ name }) => name === "namespaces");
    assert.equal(definition?.hasSpecFinalizers?.(found), true);
  });

  test("the finalizers of a namespace change through finalize only", async () => {
    const { objects } = testKinds();
    await objects.create("namespaces", { metadata: { name: "a" } });
    const ref = { resource: "namespaces", namespace: "", name: "a" };
    const drop = (draft: Unstructured) => {
      draft.spec.finalizers = [];
      draft.status = { phase: "Terminating" };
    };
    assert.deepEqual((await objects.change(ref, drop))?.spec, { finalizers: ["kubernetes"] });
    const finalized = await objects.change(ref, drop, { subresource: "finalize" });
    assert.deepEqual(finalized?.spec, { finalizers: [] });
    assert.deepEqual(finalized?.status, { phase: "Active" });
  });

  test("built-in namespaces cannot be deleted", () => {
    const { objects, definitions } = testKinds();
    const definition = definitions.find(({ name }) => name === "namespaces");
    const deletion = (name: string) => () =>
      definition?.prepareDelete?.({ metadata: { name, uid: "u" } }, objects.context());
    assert.throws(deletion("default"), (error) => {
      assert.ok(error instanceof StatusError);
      assert.equal(error.status, 403);
      assert.equal(error.message, 'namespaces "default" is forbidden: this namespace may not be deleted');
      return true;
    });
    assert.doesNotThrow(deletion("mine"));
  });

  test("a node is registered with its status, and tainted until it is ready", async () => {
    const node = await created("nodes", { metadata: { name: "n" }, status: { phase: "x" } });
    assert.deepEqual(node.status, { phase: "x" });
    assert.deepEqual(node.spec.taints, [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }]);
  });

  test("a status is written through its subresource only", async () => {
    const { objects } = testKinds();
    objects.put("nodes", { metadata: { name: "n" }, spec: { a: 1 }, status: { b: 1 } });
    const ref = { resource: "nodes", namespace: "", name: "n" };
    const change = (draft: Unstructured) => {
      draft.spec.a = 2;
      draft.status.b = 2;
    };
    const [main, status] = [
      await objects.change(ref, change),
      await objects.change(ref, change, { subresource: "status" }),
    ];
    assert.deepEqual([main?.spec, main?.status], [{ a: 2 }, { b: 1 }]);
    assert.deepEqual([status?.spec, status?.status], [{ a: 2 }, { b: 2 }]);
  });

  test("there is one default priority", async () => {
    const { objects } = testKinds();
    const resource = "priorityclasses.scheduling.k8s.io";
    await objects.create(resource, { metadata: { name: "a" }, value: 1, globalDefault: true });
    await assert.rejects(
      objects.create(resource, { metadata: { name: "b" }, value: 1, globalDefault: true }),
      /priorityclasses\.scheduling\.k8s\.io "b" is forbidden: PriorityClass a is already marked as default\. Only one default can exist/,
    );
  });

  test("a PVC without a class gets the default one", async () => {
    const { objects } = testKinds();
    objects.put("storageclasses.storage.k8s.io", {
      metadata: { name: "fast", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    });
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    const none = { metadata: { name: "a", namespace: "default" }, spec };
    const empty = { metadata: { name: "b", namespace: "default" }, spec: { ...spec, storageClassName: "" } };
    const classOf = async (draft: typeof none) => {
      const created = await objects.create("persistentvolumeclaims", draft);
      return created.spec.storageClassName;
    };
    assert.equal(await classOf(none), "fast");
    assert.equal(await classOf(empty), "");
  });

  test("a PVC can be expanded if its class allows it", async () => {
    const { objects } = testKinds();
    const classes = "storageclasses.storage.k8s.io";
    objects.put(classes, { metadata: { name: "grows" }, allowVolumeExpansion: true });
    objects.put(classes, { metadata: { name: "fixed" } });
    const grow = (storageClassName: string) => {
      const spec = {
        storageClassName,
        volumeMode: "Filesystem",
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
      };
      const metadata = { name: storageClassName, namespace: "default" };
      objects.put("persistentvolumeclaims", { metadata, spec, status: { phase: "Bound" } });
      const ref = { resource: "persistentvolumeclaims", namespace: "default", name: storageClassName };
      return objects.change(ref, (draft) => {
        draft.spec.resources.requests.storage = "2Gi";
      });
    };
    await assert.doesNotReject(grow("grows"));
    await assert.rejects(
      grow("fixed"),
      /persistentvolumeclaims "fixed" is forbidden: only dynamically provisioned pvc can be resized/,
    );
  });

  test("events are the same in both of their versions", () => {
    const { definitions } = testKinds();
    const definition = definitions.find((one) => resourceOf(one) === "events");
    const newer = definition?.alsoServedAs?.[0];
    const stored = {
      apiVersion: "v1",
      metadata: { name: "e", uid: "u" },
      involvedObject: { name: "p" },
      message: "m",
      count: 2,
      reportingComponent: "kubelet",
    };
    const draft: Unstructured = structuredClone(stored);
    newer?.fromStored(draft);
    assert.deepEqual(draft, {
      apiVersion: "events.k8s.io/v1",
      metadata: stored.metadata,
      regarding: { name: "p" },
      note: "m",
      deprecatedCount: 2,
      reportingController: "kubelet",
    });
    newer?.toStored(draft);
    assert.deepEqual(draft, stored);
  });
});
