import assert from "node:assert/strict";
import { test } from "node:test";
import {
  annotationMirror,
  annotationSource,
  fullNameOf,
  type Pod,
  type PodUid,
} from "../../lib/model/pod.ts";
import { DesiredPods } from "./desired-pods.ts";

function pod(name: string, uid: string, annotations: Record<string, string> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: uid as PodUid, annotations },
    spec: { containers: [] },
  };
}
const uid = (text: string) => text as PodUid;

test("pods are found by UID and by full name", () => {
  const pods = new DesiredPods();
  const a = pod("a", "1");
  pods.set(a);
  assert.equal(pods.get(uid("1")), a);
  assert.equal(pods.byFullName(fullNameOf(a)), a);
  const newer = { ...a };
  pods.set(newer);
  assert.deepEqual(pods.all(), [newer]);
  assert.equal(pods.byFullName(fullNameOf(a)), newer);
  pods.remove(uid("1"));
  assert.deepEqual(pods.all(), []);
  assert.equal(pods.byFullName(fullNameOf(a)), undefined);
});

test("removing the older of two pods with the same name keeps the name of the newer", () => {
  const pods = new DesiredPods();
  const newer = pod("a", "2");
  pods.set(pod("a", "1"));
  pods.set(newer);
  pods.remove(uid("1"));
  assert.equal(pods.byFullName(fullNameOf(newer)), newer);
});

test("a mirror pod is stored in addition to its static pod, and is not run", () => {
  const pods = new DesiredPods();
  const own = pod("a", "1", { [annotationSource]: "file" });
  const mirror = pod("a", "9", { [annotationSource]: "api", [annotationMirror]: "1" });
  pods.set(mirror);
  assert.equal(pods.podOfMirror(mirror), undefined);
  pods.set(own);
  assert.deepEqual(pods.all(), [own]);
  assert.deepEqual(pods.staticPods(), [own]);
  assert.equal(pods.get(uid("9")), undefined);
  assert.equal(pods.mirrorOf(own), mirror);
  assert.equal(pods.podOfMirror(mirror), own);
  pods.remove(uid("9"));
  assert.equal(pods.mirrorOf(own), undefined);
  assert.equal(pods.byFullName(fullNameOf(own)), own);
});
