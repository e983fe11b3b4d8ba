import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import {
  annotationHash,
  annotationMirror,
  annotationSource,
  type Pod,
  type PodUid,
} from "../../../lib/model/pod.ts";
import { ApiPods } from "../../state/api-pods.ts";
import { DesiredPods } from "../../state/desired-pods.ts";
import { MirrorWatch } from "./mirror-watch.ts";

function staticPod(hash: string): Pod {
  const pod = fakePod();
  pod.metadata.uid = `static-${hash}` as PodUid;
  pod.metadata.annotations = { [annotationSource]: "file", [annotationHash]: hash };
  return pod;
}

function mirrorPod(hash: string): Pod {
  const pod = fakePod({ status: { phase: "Running" } });
  pod.metadata.uid = `mirror-${hash}` as PodUid;
  pod.metadata.annotations = { [annotationSource]: "api", [annotationMirror]: hash };
  return pod;
}

function setUp() {
  const calls: string[] = [];
  const desired = new DesiredPods();
  const state: { inApi?: Pod } = {};
  const apiPods = new ApiPods({ get: () => state.inApi });
  const watch = new MirrorWatch({
    mirrors: { wake: () => calls.push("wake"), podTerminated: () => calls.push("terminated") },
    desired,
    apiPods,
    onMirror: (uid, isFirst) => calls.push(`${uid}${isFirst ? " first" : ""}`),
  });
  return { watch, apiPods, calls, desired, state };
}

test("a mirror is seen for the first time once, and reported at each change", () => {
  const { watch, calls, desired } = setUp();
  const own = staticPod("1");
  watch.apiPodChanged(mirrorPod("1"));
  assert.deepEqual(calls.splice(0), ["wake"], "its pod is not known yet");
  desired.set(own);
  watch.apiPodChanged(mirrorPod("1"));
  watch.apiPodChanged(mirrorPod("1"));
  assert.deepEqual(calls.splice(0), ["wake", "static-1 first", "wake", "static-1"]);
  watch.apiPodChanged(mirrorPod("2"));
  assert.deepEqual(
    calls.splice(0),
    ["wake", "static-1"],
    "that of another version reports nothing of this one",
  );
  watch.apiPodChanged(fakePod());
  assert.deepEqual(calls, [], "not a mirror");
});

test("the status of a mirror is used until the pod has terminated and started again", () => {
  const { watch, apiPods, calls, desired, state } = setUp();
  const own = staticPod("1");
  desired.set(own);
  state.inApi = mirrorPod("1");
  assert.deepEqual(apiPods.statusOf(own), { phase: "Running" });
  watch.forget(own.metadata.uid);
  assert.deepEqual(calls.splice(0), ["terminated"]);
  assert.equal(apiPods.statusOf(own), undefined);
  watch.apiPodChanged(mirrorPod("1"));
  assert.deepEqual(calls.splice(0), ["wake", "static-1 first"], "it is another run");
  desired.remove(own.metadata.uid);
  watch.forget(own.metadata.uid);
  assert.deepEqual(calls, ["wake"]);
  assert.deepEqual(apiPods.statusOf(own), { phase: "Running" });
});
