import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { systemClock } from "../../base/clock.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { FakeSystemd } from "./fake-systemd.ts";
import { isSystemdRunning, SystemdClient, type UnitProperty } from "./systemd-client.ts";

const exists = "org.freedesktop.systemd1.UnitExists";
const noSuchUnit = "org.freedesktop.systemd1.NoSuchUnit";
const accounting: UnitProperty = ["MemoryAccounting", { signature: "b", value: true }];

describe("systemd units", () => {
  let dir = "";
  let systemd: FakeSystemd;
  let client: SystemdClient;
  const members = () => systemd.calls.map(({ member }) => member);
  const clientWith = (clock = systemClock) =>
    new SystemdClient({ clock, endpoints: [{ socketPath: join(dir, "private"), kind: "peer" }] });

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "systemd-test-"));
    systemd = new FakeSystemd();
    await systemd.listen(join(dir, "private"));
    client = clientWith();
  });
  afterEach(async () => {
    client.close();
    await systemd.close();
    rmSync(dir, { recursive: true });
  });

  it("the version is read once, as a number", async () => {
    assert.deepEqual([await client.version(), await client.version()], [252, 252]);
    assert.deepEqual(systemd.calls, [
      { member: "Get", body: ["org.freedesktop.systemd1.Manager", "Version"] },
    ]);
  });

  it("a unit is started with its properties", async () => {
    await client.startTransientUnit("a.slice", [accounting]);
    assert.deepEqual(systemd.calls, [
      { member: "StartTransientUnit", body: ["a.slice", "replace", [accounting], []] },
    ]);
  });

  for (const signalFirst of [false, true])
    it(`a job may end ${signalFirst ? "before" : "together with"} the reply that names it`, async () => {
      systemd.signalFirst = signalFirst;
      await Promise.all(["a.slice", "b.slice"].map((name) => client.startTransientUnit(name, [])));
    });

  it("a unit that is already loaded is started as it is", async () => {
    systemd.reply = ({ member }) => (member === "StartTransientUnit" ? { error: exists } : undefined);
    await client.startTransientUnit("a.slice", []);
    assert.deepEqual(members(), ["StartTransientUnit", "StartUnit"]);
  });

  it("a job that fails is an error with its result, and the unit is reset", async () => {
    systemd.reply = ({ member }) => (member === "StartTransientUnit" ? { job: "failed" } : undefined);
    await assert.rejects(client.startTransientUnit("a.slice", []), /systemd did not start a\.slice: failed/);
    assert.deepEqual(members(), ["StartTransientUnit", "ResetFailedUnit"]);
  });

  it("a job that does not end is an error after 30 s", async () => {
    const clock = new FakeClock();
    client = clientWith(clock);
    systemd.reply = ({ member }) => (member === "StopUnit" ? { signature: "o", body: ["/job"] } : undefined);
    const stopped = assert.rejects(
      client.stopUnit("a.slice"),
      /StopUnit a\.slice: did not finish within 30 s/,
    );
    while (!members().includes("StopUnit")) await new Promise(setImmediate);
    // The clock may advance only after the reply to StopUnit has arrived. Replies arrive in order, so the next call waits for it.
    await client.resetFailedUnit("b.slice");
    await clock.advance(30_000);
    await stopped;
  });

  it("stopping a unit waits for its job and resets it; one that is not loaded is not an error", async () => {
    await client.stopUnit("a.slice");
    systemd.reply = () => ({ error: noSuchUnit });
    await client.stopUnit("b.slice");
    assert.deepEqual(members(), ["StopUnit", "ResetFailedUnit", "StopUnit", "ResetFailedUnit"]);
  });

  it("properties are set until the next boot", async () => {
    await client.setUnitProperties("a.slice", [accounting]);
    assert.deepEqual(systemd.calls, [{ member: "SetUnitProperties", body: ["a.slice", true, [accounting]] }]);
  });

  it("a systemd error is propagated", async () => {
    systemd.reply = () => ({ error: "org.freedesktop.DBus.Error.PropertyReadOnly" });
    const set = client.setUnitProperties("a.slice", [accounting]);
    await assert.rejects(set, { errorName: "org.freedesktop.DBus.Error.PropertyReadOnly" });
  });

  it("a call whose connection is lost is retried, with at most three attempts in total", async () => {
    let left = 2;
    systemd.reply = () => (left-- > 0 ? "disconnect" : undefined);
    await client.startTransientUnit("a.slice", []);
    assert.equal(members().length, 3);
    systemd.reply = () => "disconnect";
    await assert.rejects(client.stopUnit("a.slice"), { code: "DBusDisconnected" });
    assert.equal(members().length, 6);
  });

  it("a job whose connection is lost is restarted", async () => {
    systemd.reply = ({ member }) => {
      if (systemd.calls.length > 1) return undefined;
      setImmediate(() => systemd.disconnect());
      return member === "StopUnit" ? { signature: "o", body: ["/job"] } : undefined;
    };
    await client.stopUnit("a.slice");
    assert.deepEqual(members(), ["StopUnit", "StopUnit", "ResetFailedUnit"]);
  });

  it("a wait for a job ends with its signal", async () => {
    const abort = new AbortController();
    systemd.reply = () => {
      setImmediate(() => abort.abort());
      return { signature: "o", body: ["/job"] };
    };
    await assert.rejects(client.stopUnit("a.slice", { signal: abort.signal }), { name: "AbortError" });
  });

  it("systemd is running if its directory exists", async () => {
    assert.deepEqual([await isSystemdRunning(dir), await isSystemdRunning(join(dir, "no"))], [true, false]);
  });
});
