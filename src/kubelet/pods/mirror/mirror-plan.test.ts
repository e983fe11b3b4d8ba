import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationHash, annotationMirror, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import { mirrorOf, planMirrors } from "./mirror-plan.ts";

const pod = (name: string, hash: string): Pod =>
  fakePod({ metadata: { name, uid: hash as PodUid, annotations: { [annotationHash]: hash } } });
const mirror = (name: string, hash: string | undefined, more: Partial<Pod["metadata"]> = {}): Pod =>
  fakePod({
    metadata: {
      name,
      uid: `m-${name}` as PodUid,
      annotations: hash === undefined ? {} : { [annotationMirror]: hash },
      ...more,
    },
  });

const cases: { rule: string; pods: Pod[]; mirrors: Pod[]; steps: string[] }[] = [
  { rule: "a pod without a mirror needs one", pods: [pod("a", "1")], mirrors: [], steps: ["create a"] },
  {
    rule: "a mirror of the same version is kept",
    pods: [pod("a", "1")],
    mirrors: [mirror("a", "1")],
    steps: [],
  },
  {
    rule: "one of another version is replaced",
    pods: [pod("a", "2")],
    mirrors: [mirror("a", "1")],
    steps: ["replace a"],
  },
  {
    rule: "one that is being deleted is replaced",
    pods: [pod("a", "1")],
    mirrors: [mirror("a", "1", { deletionTimestamp: "2026-01-01T00:00:00Z" })],
    steps: ["replace a"],
  },
  { rule: "one without a pod is deleted", pods: [], mirrors: [mirror("a", "1")], steps: ["delete a"] },
  {
    rule: "names are compared with their namespace",
    pods: [pod("a", "1")],
    mirrors: [mirror("a", "1", { namespace: "other" })],
    steps: ["create a", "delete a"],
  },
];

for (const { rule, pods, mirrors, steps } of cases)
  test(`mirrors: ${rule}`, () => {
    const plan = planMirrors(pods, mirrors);
    assert.deepEqual(
      plan.map((s) => `${s.kind} ${(s.kind === "delete" ? s.mirror : s.pod).metadata.name}`),
      steps,
    );
  });

test("the mirror has the pod's labels, annotations and spec, its hash, the node as owner, and no UID or status", () => {
  const annotations = {
    [annotationHash]: "h",
    "kubernetes.io/config.source": "file",
    "kubernetes.io/config.seen": "2026-01-01T00:00:00Z",
  };
  const source = fakePod({
    metadata: { uid: "h" as PodUid, labels: { app: "x" }, annotations },
    status: { phase: "Pending" },
  });
  assert.deepEqual(mirrorOf(source, { name: "node-1", uid: "n-uid" }), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web",
      namespace: "default",
      labels: { app: "x" },
      annotations: { ...annotations, [annotationMirror]: "h" },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "node-1", uid: "n-uid", controller: true }],
    },
    spec: source.spec,
  });
});
