import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../lib/model/pod.ts";
import { PodListeners } from "./pod-listeners.ts";

test("who listens to a pod hears of that one only, until it stops", () => {
  const listeners = new PodListeners();
  const heard: string[] = [];
  const stop = listeners.listen("a" as PodUid, () => heard.push("first"));
  listeners.listen("a" as PodUid, () => heard.push("second"));
  listeners.tell("b" as PodUid);
  assert.deepEqual(heard, []);
  listeners.tell("a" as PodUid);
  stop();
  listeners.tell("a" as PodUid);
  assert.deepEqual(heard, ["first", "second", "second"]);
});
