import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../lib/model/pod.ts";
import { PodListeners } from "./pod-listeners.ts";

test("a listener is notified of its pod only, until it unsubscribes", () => {
  const listeners = new PodListeners();
  const notified: string[] = [];
  const stop = listeners.listen("a" as PodUid, () => notified.push("first"));
  listeners.listen("a" as PodUid, () => notified.push("second"));
  listeners.notify("b" as PodUid);
  assert.deepEqual(notified, []);
  listeners.notify("a" as PodUid);
  stop();
  listeners.notify("a" as PodUid);
  assert.deepEqual(notified, ["first", "second", "second"]);
});
