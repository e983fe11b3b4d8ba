import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { HostSetup, type HostSetupOptions } from "./host-setup.ts";

const good: Readonly<Record<string, number>> = {
  "vm/overcommit_memory": 1,
  "vm/panic_on_oom": 0,
  "kernel/panic": 10,
  "kernel/panic_on_oops": 1,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

function setUp(over: Partial<HostSetupOptions> = {}, kernel: Record<string, number> = { ...good }) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const warnings: unknown[][] = [];
  const written: string[] = [];
  const events: string[] = [];
  const scores: number[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (message, fields) => warnings.push([message, ...Object.values(fields ?? {})]),
  };
  const sysctls = {
    async get(name: string) {
      const value = kernel[name];
      if (value === undefined) throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
      return value;
    },
    async set(name: string, value: number) {
      if (name === "kernel/panic")
        throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
      written.push(name);
      kernel[name] = value;
    },
  };
  const setup = new HostSetup({
    failSwapOn: true,
    isSwapOn: async () => false,
    supportsNoswap: async () => true,
    events: { warning: (reason) => void events.push(reason) },
    tunables: "modify",
    sysctls,
    userNamespace: async () => "not in one",
    oomScoreAdj: -999,
    setOomScoreAdj: async (value) => void scores.push(value),
    unreachableResolvConf: async () => undefined,
    clock,
    logger,
    ...over,
  });
  return {
    clock,
    events,
    warnings,
    written,
    scores,
    kernel,
    stop,
    start: () => setup.start(stop.signal),
    setup,
  };
}

describe("host setup", () => {
  it("kernel settings that differ are changed", async () => {
    const { start, written, kernel, stop } = setUp(
      {},
      { ...good, "vm/overcommit_memory": 0, "kernel/panic_on_oops": 0 },
    );
    await start();
    assert.deepEqual(written, ["vm/overcommit_memory", "kernel/panic_on_oops"]);
    assert.deepEqual(kernel, good);
    stop.abort();
  });
  // parity: field protectKernelDefaults as tunables
  it("protected settings that differ fail startup, and all are named", async () => {
    const differing = { ...good, "vm/overcommit_memory": 0, "kernel/panic": 1 };
    const { start, written } = setUp({ tunables: "fail" }, differing);
    await assert.rejects(start(), {
      code: "KernelTunables",
      message:
        "[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, " +
        "invalid kernel flag: kernel/panic, expected value: 10, actual value: 1]",
    });
    assert.deepEqual(written, []);
  });
  it("settings that are kept are reported", async () => {
    const { start, written, warnings, stop } = setUp({ tunables: "warn" }, { ...good, "kernel/panic": 1 });
    await start();
    assert.deepEqual(warnings, [["Invalid kernel flag", "kernel/panic", 10, 1]]);
    assert.deepEqual(written, []);
    stop.abort();
  });
  it("a setting that cannot be changed fails startup", async () => {
    await assert.rejects(setUp({}, { ...good, "kernel/panic": 1 }).start(), {
      message: "kernel flag kernel/panic: EROFS: read-only file system",
    });
  });
  // parity: gate KubeletInUserNamespace=true
  it("in a user namespace a setting that cannot be changed is ignored with the gate", async () => {
    const { start, written, stop } = setUp(
      { userNamespace: async () => "on" },
      { ...good, "kernel/panic": 1, "kernel/panic_on_oops": 0 },
    );
    await start();
    assert.deepEqual(written, ["kernel/panic_on_oops"]);
    stop.abort();
  });
  // parity: gate KubeletInUserNamespace=false
  it("in a user namespace a setting that cannot be changed fails startup without the gate, which is named", async () => {
    await assert.rejects(
      setUp({ userNamespace: async () => "off" }, { ...good, "kernel/panic": 1 }).start(),
      {
        message:
          "kernel flag kernel/panic: EROFS: read-only file system " +
          "(running in a user namespace; the feature gate KubeletInUserNamespace ignores the error)",
      },
    );
  });
  it("in a user namespace protected settings that differ fail startup with the gate, too", async () => {
    await assert.rejects(
      setUp({ userNamespace: async () => "on", tunables: "fail" }, { ...good, "kernel/panic": 1 }).start(),
      { code: "KernelTunables" },
    );
  });
  it("a kernel without key rings needs no limit for them", async () => {
    const { "kernel/keys/root_maxkeys": _, ...without } = good;
    const { start, stop } = setUp({ tunables: "fail" }, without);
    await start();
    stop.abort();
  });
  // parity: event PossibleMemoryBackedVolumesOnDisk
  for (const [rule, isSwapOn, supportsNoswap, expected] of [
    [
      "volumes in memory that may be swapped are an event",
      true,
      false,
      ["PossibleMemoryBackedVolumesOnDisk"],
    ],
    ["volumes in memory that are kept out of swap are none", true, true, []],
    ["volumes in memory of a machine without swap are none", false, false, []],
  ] as const)
    it(rule, async () => {
      const { start, stop, events } = setUp({
        failSwapOn: false,
        isSwapOn: async () => isSwapOn,
        supportsNoswap: async () => supportsNoswap,
      });
      await start();
      stop.abort();
      assert.deepEqual(events, expected);
    });
  // parity: field failSwapOn
  it("swap fails startup unless it is allowed", async () => {
    const isSwapOn = async () => true;
    await assert.rejects(setUp({ isSwapOn }).start(), {
      message:
        "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false",
    });
    const { start, stop } = setUp({ isSwapOn, failSwapOn: false });
    await start();
    stop.abort();
  });
  it("nameservers that pods cannot reach are reported, with the file of systemd-resolved", async () => {
    const { start, warnings, stop } = setUp({ unreachableResolvConf: async () => "/etc/resolv.conf" });
    await start();
    assert.deepEqual(warnings, [
      [
        "Nameservers on the loopback network cannot be reached from pods, check resolvConf",
        ...["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"],
      ],
    ]);
    stop.abort();
  });
  // parity: field oomScoreAdj
  it("the OOM score of the agent is set at the start and kept", async () => {
    const { start, clock, scores, stop, setup } = setUp();
    await start();
    assert.deepEqual(scores, [-999]);
    await clock.advance(5 * 60_000);
    assert.deepEqual(scores, [-999, -999]);
    stop.abort();
    await setup.done;
  });
  it("an OOM score that cannot be set is logged once, and the agent starts", async () => {
    const setOomScoreAdj = async () => {
      throw new Error("EACCES: permission denied");
    };
    const { start, clock, warnings, stop } = setUp({ setOomScoreAdj });
    await start();
    await clock.advance(20 * 60_000);
    assert.deepEqual(warnings, [["Failed to ApplyOOMScoreAdj", -999, "EACCES: permission denied"]]);
    stop.abort();
  });
});
