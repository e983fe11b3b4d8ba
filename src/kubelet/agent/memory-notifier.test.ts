import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentCore } from "./agent-core.ts";
import { memoryNotifier } from "./memory-notifier.ts";

// parity: field kernelMemcgNotification
test("the kernel notifies about memory if kernelMemcgNotification is set, on cgroup v1 only", () => {
  const notifies = (kernelMemcgNotification: boolean, layout: object) => {
    const node = { layout, cgroupManager: { pathOf: () => "/kubepods" } };
    const core = { config: { kernelMemcgNotification, cgroupRoot: "/" }, node } as unknown as AgentCore;
    return memoryNotifier(core) !== undefined;
  };
  const v1 = { version: 1, mounts: new Map([["memory", "/sys/fs/cgroup/memory"]]) };
  assert.equal(notifies(true, v1), true);
  assert.equal(notifies(false, v1), false);
  assert.equal(notifies(true, { version: 2 }), false);
});
