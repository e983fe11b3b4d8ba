import assert from "node:assert/strict";
import { test } from "node:test";
import { aSandbox } from "../../../test/builders/pods.ts";
import { annotationSource, type PodUid } from "../../lib/model/pod.ts";
import { isFromApi, type ObservedPod } from "./observed-pods.ts";

const observedFrom = (source: string): ObservedPod => ({
  uid: "a" as PodUid,
  name: "p",
  namespace: "default",
  sandboxes: [aSandbox({ annotations: { [annotationSource]: source } })],
  containers: [],
});

test("the source annotation of a sandbox marks a pod as one from the API server", () => {
  assert.equal(isFromApi(observedFrom("api")), true);
  assert.equal(isFromApi(observedFrom("file")), false);
  assert.equal(isFromApi(undefined), false);
});
