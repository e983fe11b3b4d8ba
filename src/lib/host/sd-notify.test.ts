import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { NotifySocket } from "../../../test/e2e/notify-socket.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import { serviceManager } from "./sd-notify.ts";

test("the service manager is notified that we are ready, alive and stopping", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "sd-notify-"));
  const socket = new NotifySocket(join(dir, "notify"));
  t.after(() => {
    socket.close();
    rmSync(dir, { recursive: true });
  });
  const manager = serviceManager({ NOTIFY_SOCKET: socket.path }, 1, silentLogger);
  manager.ready();
  manager.alive();
  manager.stopping();
  assert.deepEqual(socket.received(), ["READY=1", "WATCHDOG=1", "STOPPING=1"]);
});

const watchdogs: [rule: string, env: NodeJS.ProcessEnv, ms: number | undefined][] = [
  ["for us", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "42" }, 30_000],
  ["for any process", { WATCHDOG_USEC: "30000000" }, 30_000],
  ["for another process", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "41" }, undefined],
  ["not set", {}, undefined],
  ["too small, but for another process", { WATCHDOG_USEC: "1", WATCHDOG_PID: "41" }, undefined],
];
for (const [rule, env, ms] of watchdogs)
  test(`watchdog: ${rule}`, () =>
    assert.equal(serviceManager({ NOTIFY_SOCKET: "/nowhere", ...env }, 42, silentLogger).watchdogMs, ms));

const invalid: [env: NodeJS.ProcessEnv, message: RegExp][] = [
  [{ WATCHDOG_USEC: "soon" }, /^WATCHDOG_USEC: "soon" is not a positive number$/],
  [{ WATCHDOG_USEC: "0" }, /^WATCHDOG_USEC: "0" is not/],
  [{ WATCHDOG_USEC: "-1" }, /^WATCHDOG_USEC: "-1" is not/],
  [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "x" }, /^WATCHDOG_PID: "x" is not a number$/],
  [{ WATCHDOG_USEC: "1000000" }, /^WATCHDOG_USEC: configure watchdog timeout too small: 1000ms$/],
];
for (const [env, message] of invalid)
  test(`the agent does not start with ${JSON.stringify(env)}`, () => {
    const env2 = { NOTIFY_SOCKET: "/nowhere", ...env };
    assert.throws(() => serviceManager(env2, 42, silentLogger), { name: "KubeletError", message });
  });

test("without a service manager nothing is sent", () => {
  const manager = serviceManager({ WATCHDOG_USEC: "1000" }, 1, silentLogger);
  manager.ready();
  assert.equal(manager.watchdogMs, undefined);
});

for (const path of ["/no/such/socket", `/${"x".repeat(200)}`])
  test(`an unreachable service manager is not an error (${path.length} characters)`, () => {
    const logs: string[] = [];
    const logger: Logger = { ...silentLogger, debug: (_level, message) => void logs.push(message) };
    serviceManager({ NOTIFY_SOCKET: path }, 1, logger).ready();
    assert.deepEqual(logs, ["Failed to send sd_notify message"]);
  });
