import assert from "node:assert/strict";
import { test } from "node:test";
import { makeStaticPod, type StaticPodOptions } from "./static-pod.ts";

type Loose = Record<string, unknown>;

const fromFile: StaticPodOptions = { nodeName: "node-1", origin: { source: "file", path: "/m/web.yaml" } };

function manifest(spec: Loose = {}, metadata: Loose = {}): Loose {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", ...metadata },
    spec: { containers: [{ name: "c", image: "i:1" }], ...spec },
  };
}

function staticPod(input: unknown, options = fromFile) {
  const result = makeStaticPod(input, options);
  if ("problems" in result) assert.fail(JSON.stringify(result.problems));
  return result.pod;
}

test("a static pod gets the node name, a UID, source annotations and a NoExecute toleration", () => {
  const pod = staticPod(manifest());
  assert.equal(pod.metadata.name, "web-node-1");
  assert.equal(pod.metadata.namespace, "default");
  assert.match(pod.metadata.uid, /^[0-9a-f]{32}$/);
  assert.equal(pod.spec.nodeName, "node-1");
  assert.deepEqual(pod.status, { phase: "Pending" });
  assert.deepEqual(pod.metadata.annotations, {
    "kubernetes.io/config.hash": pod.metadata.uid,
    "kubernetes.io/config.source": "file",
  });
  assert.deepEqual(pod.spec.tolerations, [{ operator: "Exists", effect: "NoExecute" }]);
});

test("a pod from a URL gets no extra toleration", () => {
  const pod = staticPod(manifest(), { nodeName: "n", origin: { source: "http", url: "http://x/" } });
  assert.equal(pod.spec.tolerations, undefined);
  assert.equal(pod.metadata.annotations?.["kubernetes.io/config.source"], "http");
});

test("an applied pod gets name, source and toleration like a pod from a file", () => {
  const applied = (name: string, nodeName = "n") =>
    staticPod(manifest(), { nodeName, origin: { source: "applied", name } });
  const pod = applied("m");
  assert.equal(pod.metadata.name, "web-n");
  assert.equal(pod.metadata.annotations?.["kubernetes.io/config.source"], "applied");
  assert.deepEqual(pod.spec.tolerations, [{ operator: "Exists", effect: "NoExecute" }]);
  const uids = [pod, applied("m"), applied("other"), applied("m", "n2")].map((p) => p.metadata.uid);
  assert.equal(uids[0], uids[1]);
  assert.equal(new Set(uids).size, 3, "the manifest's name and the node are part of the UID");
});

test("with local objects a pod may refer to ConfigMaps and Secrets, and to no other API objects", () => {
  const spec = {
    imagePullSecrets: [{ name: "s" }],
    serviceAccountName: "a",
    containers: [
      {
        name: "c",
        image: "i:1",
        envFrom: [{ secretRef: { name: "s" } }, { configMapRef: { name: "c" } }],
        env: [
          { name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
          { name: "B", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } },
        ],
      },
    ],
    volumes: [
      { name: "a", secret: { secretName: "s" } },
      { name: "b", configMap: { name: "c" } },
      { name: "c", persistentVolumeClaim: { claimName: "p" } },
      {
        name: "d",
        projected: {
          sources: [
            { secret: { name: "s" } },
            { configMap: { name: "c" } },
            { serviceAccountToken: { path: "t" } },
          ],
        },
      },
    ],
  };
  const forbidden = (hasLocalObjects: boolean) => {
    const result = makeStaticPod(manifest(spec), { ...fromFile, hasLocalObjects });
    return "problems" in result ? result.problems.map(({ path }) => path) : [];
  };
  assert.deepEqual(forbidden(true), [
    "spec.serviceAccountName",
    "spec.volumes[2].persistentVolumeClaim",
    "spec.volumes[3].projected.sources[2].serviceAccountToken",
  ]);
  assert.equal(forbidden(false).length, 12);
});

test("the toleration is not repeated", () => {
  const tolerations = [{ operator: "Exists", effect: "NoExecute" }];
  assert.equal(staticPod(manifest({ tolerations })).spec.tolerations?.length, 1);
});

test("the UID changes with the pod, the file and the node, and with nothing else", () => {
  const uid = (input: unknown, options = fromFile) => staticPod(input, options).metadata.uid;
  const base = uid(manifest());
  assert.equal(uid(manifest()), base);
  const reordered = Object.fromEntries(Object.entries(manifest()).reverse());
  assert.equal(uid(reordered), base, "the order of fields");
  assert.equal(uid({ ...manifest(), status: { phase: "Running" } }), base, "a status");
  assert.equal(uid(manifest({ unknown: 1 })), base, "an unknown field");
  assert.notEqual(uid(manifest({ hostPID: true })), base, "the spec");
  assert.notEqual(uid(manifest({}, { labels: { a: "b" } })), base, "labels");
  assert.notEqual(
    uid(manifest(), { ...fromFile, origin: { source: "file", path: "/m/x" } }),
    base,
    "the file",
  );
  assert.notEqual(uid(manifest(), { ...fromFile, nodeName: "other" }), base, "the node");
});

test("a UID in the manifest is kept", () => {
  assert.equal(staticPod(manifest({}, { uid: "mine" })).metadata.uid, "mine");
});

test("a name is required, and must be valid with the node name appended", () => {
  const problems = (input: unknown, nodeName: string) => {
    const result = makeStaticPod(input, { ...fromFile, nodeName });
    return "problems" in result ? result.problems.map((p) => p.path) : [];
  };
  assert.deepEqual(problems(manifest({}, { name: "" }), "n"), ["metadata.name"]);
  assert.deepEqual(problems(manifest({}, { name: "", generateName: "x-" }), "n"), ["metadata.name"]);
  assert.deepEqual(problems(manifest({}, { name: "a".repeat(250) }), "node"), ["metadata.name"]);
});

test("a static pod may not refer to API objects", async (t) => {
  const container = { name: "c", image: "i:1" };
  const volume = (source: Loose): Loose => ({ volumes: [{ name: "v", ...source }] });
  const rows: [spec: Loose, path: string, resource: string][] = [
    [{ serviceAccountName: "x" }, "spec.serviceAccountName", "serviceaccounts"],
    [{ serviceAccount: "x" }, "spec.serviceAccountName", "serviceaccounts"],
    [{ imagePullSecrets: [{ name: "x" }] }, "spec.imagePullSecrets[0]", "secrets"],
    [volume({ secret: { secretName: "x" } }), "spec.volumes[0].secret", "secrets"],
    [volume({ configMap: { name: "x" } }), "spec.volumes[0].configMap", "configmaps"],
    [
      volume({ persistentVolumeClaim: { claimName: "x" } }),
      "spec.volumes[0].persistentVolumeClaim",
      "persistentvolumeclaims",
    ],
    [
      volume({ projected: { sources: [{ secret: { name: "x" } }] } }),
      "spec.volumes[0].projected.sources[0].secret",
      "secrets",
    ],
    [
      { containers: [{ ...container, envFrom: [{ configMapRef: { name: "x" } }] }] },
      "spec.containers[0].envFrom[0].configMapRef",
      "configmaps",
    ],
    [
      {
        containers: [
          { ...container, env: [{ name: "A", valueFrom: { secretKeyRef: { name: "x", key: "k" } } }] },
        ],
      },
      "spec.containers[0].env[0].valueFrom.secretKeyRef",
      "secrets",
    ],
  ];
  for (const [spec, path, resource] of rows) {
    await t.test(`${path} may not reference ${resource}`, () => {
      const result = makeStaticPod(manifest(spec), fromFile);
      assert.deepEqual("problems" in result && result.problems, [
        { path, message: `Forbidden: static pods may not reference ${resource}` },
      ]);
      assert.ok("pod" in makeStaticPod(manifest(spec), { ...fromFile, allowApiReferences: true }));
    });
  }
});
