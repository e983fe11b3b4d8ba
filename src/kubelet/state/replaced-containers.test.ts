import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerId } from "../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import { ReplacedContainers } from "./replaced-containers.ts";

const uid = "u" as PodUid;
const a = (id: string) => ({ name: "a", id: id as ContainerId });

test("only the container that was stopped for replacement is marked, not the next of its name", () => {
  const replaced = new ReplacedContainers();
  assert.equal(replaced.has(uid, a("1")), false);
  replaced.mark(uid, a("1"));
  assert.equal(replaced.has(uid, a("1")), true);
  assert.equal(replaced.has(uid, a("2")), false);
  assert.equal(replaced.has("other" as PodUid, a("1")), false);
});

test("one replaced container is kept for each name, and none of a removed pod", () => {
  const replaced = new ReplacedContainers();
  replaced.mark(uid, a("1"));
  replaced.mark(uid, a("2"));
  assert.deepEqual([replaced.has(uid, a("1")), replaced.has(uid, a("2"))], [false, true]);
  assert.equal(replaced.size, 1);
  replaced.forget(uid);
  assert.equal(replaced.size, 0);
  assert.equal(replaced.has(uid, a("2")), false);
});
