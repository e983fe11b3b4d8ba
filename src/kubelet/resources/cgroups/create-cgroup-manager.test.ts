import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import { createCgroupManager } from "./create-cgroup-manager.ts";

const layout = { version: 2, root: "/sys/fs/cgroup" } as const;

// parity: field cgroupDriver
test("the systemd driver is used where systemd is the init system, and rejected with one message elsewhere", async () => {
  const manager = (running: boolean) =>
    createCgroupManager("systemd", layout, systemClock, async () => running);
  assert.equal((await manager(true)).pathOf(["kubepods", "poda-b"]), "/kubepods.slice/kubepods-poda_b.slice");
  await assert.rejects(manager(false), {
    code: "NotSupported",
    message: /^cgroupDriver: "systemd": systemd not running on this host, .*SystemdCgroup = false/,
  });
  const other = await createCgroupManager("cgroupfs", layout, systemClock, async () => false);
  assert.equal(other.driver, "cgroupfs");
});
