import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { pathOf, SystemCgroups, type SystemCgroupsOptions } from "./system-cgroups.ts";

const agent = 40;

/** A machine with init (1), a kernel thread (2), two daemons (30, 31) and the agent (40). */
function machine(over: Partial<SystemCgroupsOptions> = {}) {
  const clock = new FakeClock();
  const at = new Map([1, 2, 30, 31, agent].map((pid) => [pid, "/"]));
  const created: string[] = [];
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (message) => warnings.push(message) };
  const unmovable = new Set<number>();
  const options: SystemCgroupsOptions = {
    kubelet: "/kubelet",
    system: "/system",
    cgroups: { create: async (path) => void created.push(path) },
    membership: {
      rootProcesses: async () => [...at].filter(([, path]) => path === "/").map(([pid]) => pid),
      async attach(path, pid) {
        assert.ok(path === "/" || created.includes(path), `${path} does not exist`);
        if (unmovable.has(pid)) throw new Error(`EINVAL: ${pid}`);
        at.set(pid, path);
      },
    },
    processes: {
      isKernelThread: async (pid) => pid === 2,
      isInHostPidNamespace: async () => true,
    },
    clock,
    logger,
    pid: agent,
    ...over,
  };
  const cgroups = new SystemCgroups(options);
  const stop = new AbortController();
  return { at, clock, created, warnings, unmovable, cgroups, stop, start: () => cgroups.start(stop.signal) };
}

describe("system cgroups", () => {
  // parity: field kubeletCgroups, field systemCgroups
  it("the agent is moved to kubeletCgroups, all others but init and kernel threads to systemCgroups", async () => {
    const { at, start, created } = machine();
    await start();
    assert.deepEqual(Object.fromEntries(at), {
      1: "/",
      2: "/",
      30: "/system",
      31: "/system",
      40: "/kubelet",
    });
    assert.deepEqual(created, ["/kubelet", "/system"]);
  });

  it("the agent is moved like other processes if kubeletCgroups is not set; these are not moved if systemCgroups is not set", async () => {
    const first = machine({ kubelet: "" });
    await first.start();
    assert.equal(first.at.get(agent), "/system");
    const second = machine({ system: "" });
    await second.start();
    assert.deepEqual([...second.at.values()], ["/", "/", "/", "/", "/kubelet"]);
    assert.deepEqual(second.created, ["/kubelet"]);
  });

  it("later processes are moved within a minute, until it is stopped", async () => {
    const { at, clock, cgroups, stop, start } = machine();
    await start();
    at.set(50, "/");
    await clock.advance(59_000);
    assert.equal(at.get(50), "/");
    await clock.advance(1000);
    await settle();
    assert.equal(at.get(50), "/system");
    stop.abort();
    await cgroups.done;
    assert.equal(clock.pending, 0);
  });

  it("processes started while others are moved are moved in the same pass", async () => {
    const at = new Map([[30, "/"]]);
    const { start } = machine({
      kubelet: "",
      membership: {
        rootProcesses: async () => [...at].filter(([, path]) => path === "/").map(([pid]) => pid),
        async attach(path, pid) {
          at.set(pid, path);
          if (pid < 33) at.set(pid + 1, "/");
        },
      },
    });
    await start();
    assert.deepEqual([...at.values()], ["/system", "/system", "/system", "/system"]);
  });

  it("a process that cannot be moved is reported, blocks no other, and is retried", async () => {
    const { at, clock, unmovable, warnings, start } = machine();
    unmovable.add(30);
    await start();
    assert.equal(at.get(31), "/system");
    assert.deepEqual(warnings, ["Failed to ensure state of system cgroup"]);
    unmovable.clear();
    await clock.advance(60_000);
    await settle();
    assert.equal(at.get(30), "/system");
  });

  it("an agent in a container is not moved", async () => {
    const { at, start } = machine({
      system: "",
      processes: { isKernelThread: async () => false, isInHostPidNamespace: async () => false },
    });
    await start();
    assert.equal(at.get(agent), "/");
  });

  it("systemCgroups cannot be the root", async () => {
    for (const system of ["/", "//"]) await assert.rejects(machine({ system }).start(), /systemCgroups/);
  });

  it("names are paths from the root", () => {
    for (const [name, path] of [
      ["", undefined],
      ["kubelet", "/kubelet"],
      ["/kubelet.slice/", "/kubelet.slice"],
      ["/a//b", "/a/b"],
      ["/", "/"],
    ] as const)
      assert.equal(pathOf(name), path);
  });
});
