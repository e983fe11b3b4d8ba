import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryNotifier } from "./memory-notifier.ts";

// parity: field kernelMemcgNotification
test("the kernel notifies about memory if kernelMemcgNotification is set, on cgroup v1 only", () => {
  const v1 = { version: 1, mounts: new Map([["memory", "/sys/fs/cgroup/memory"]]) } as const;
  const v2 = { version: 2, root: "/sys/fs/cgroup" } as const;
  const podsCgroup = "/kubepods";
  assert.notEqual(memoryNotifier({ enabled: true, layout: v1, podsCgroup }), undefined);
  assert.equal(memoryNotifier({ enabled: false, layout: v1, podsCgroup }), undefined);
  assert.equal(memoryNotifier({ enabled: true, layout: v2, podsCgroup }), undefined);
});
