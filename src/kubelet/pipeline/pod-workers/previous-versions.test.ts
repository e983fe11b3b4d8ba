import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod, aSandbox, testUid } from "../../../../test/builders/pods.ts";
import { annotationSource, type PodUid } from "../../../lib/model/pod.ts";
import { type ObservedPod, ObservedPods } from "../../state/observed-pods.ts";
import { previousVersions } from "./previous-versions.ts";

const observedAs = (uid: string, name: string, source: string): ObservedPod => ({
  uid: uid as PodUid,
  name,
  namespace: "default",
  sandboxes: [aSandbox({ annotations: { [annotationSource]: source } })],
  containers: [],
});

test("a previous version has the name and source of a static pod, another UID, and is in no source", () => {
  const observed = new ObservedPods();
  for (const pod of [
    observedAs(testUid, "p", "file"),
    observedAs("old", "p", "file"),
    observedAs("desired", "p", "file"),
    observedAs("api", "p", "api"),
    observedAs("http", "p", "http"),
    observedAs("other", "q", "file"),
  ])
    observed.set(pod);
  observed.couldNotInspect(observedAs("unclear", "p", "file"));
  const desired = { get: (uid: PodUid) => (uid === "desired" ? aPod() : undefined) };
  const found = (pod = aPod()) => previousVersions(pod, observed, desired).map((p) => p.uid);
  assert.deepEqual(found(), ["old", "unclear"]);
  assert.deepEqual(
    found(aPod({}, { annotations: { [annotationSource]: "api" } })),
    [],
    "an API pod keeps its UID",
  );
});
