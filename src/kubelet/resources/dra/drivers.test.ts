import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../../lib/base/metrics.ts";
import type { WatchedPluginChannel } from "../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { draMetrics } from "./dra-metrics.ts";
import { DraDrivers } from "./drivers.ts";

const never = new AbortController().signal;
const claims = [
  { uid: "u1", name: "a", namespace: "ns" },
  { uid: "u2", name: "b", namespace: "ns" },
];
const versions = ["v1.DRAPlugin"];

interface FakeInstance {
  readonly calls: string[];
  connect(isConnected: boolean): void;
  isClosed: boolean;
}

function setUp(results: Record<string, unknown> = {}) {
  const instances = new Map<string, FakeInstance>();
  const usable: string[] = [];
  const clock = new FakeClock();
  const metrics: Metrics = createMetrics();
  const open = (endpoint: string): WatchedPluginChannel => {
    const calls: string[] = [];
    const instance: FakeInstance = { calls, connect: () => {}, isClosed: false };
    instances.set(endpoint, instance);
    return {
      call: (async (method: { name: string; parent: { typeName: string } }) => {
        calls.push(`${method.parent.typeName.split(".").at(-2)} ${method.name}`);
        return { claims: results };
      }) as unknown as WatchedPluginChannel["call"],
      stream: async () => {},
      connected: async () => {},
      watch: (onChange) => {
        instance.connect = onChange;
      },
      close: () => {
        instance.isClosed = true;
      },
    };
  };
  const drivers = new DraDrivers({
    clock,
    logger: silentLogger,
    open,
    metrics: draMetrics(metrics, clock, new Map()),
    slices: { usable: (driver, isUsable) => usable.push(`${driver} ${isUsable}`) },
    onConnected: (driver) => usable.push(`${driver} connected`),
  });
  return { drivers, instances, usable, metrics };
}

describe("the versions of a driver", () => {
  const cases: [string, readonly string[], string][] = [
    [
      "the first that is supported, in the order of the driver",
      ["v9.X", "v1beta1.DRAPlugin", "v1.DRAPlugin"],
      "v1beta1",
    ],
    ["v1", ["v1.DRAPlugin", "v1beta1.DRAPlugin"], "v1"],
  ];
  for (const [what, given, expected] of cases)
    it(`${what} is called`, async () => {
      const { drivers, instances } = setUp({
        u1: { devices: [], error: "" },
        u2: { devices: [], error: "" },
      });
      await drivers.register({ name: "d", endpoint: "/e", versions: given });
      await drivers.get("d").prepare(claims, never);
      assert.deepEqual(instances.get("/e")?.calls, [`${expected} NodePrepareResources`]);
    });

  for (const name of ["", "a".repeat(64), "a/b", "..", "a".repeat(4_000_000)])
    it(`the name ${JSON.stringify(name.slice(0, 8))} of ${name.length} characters is rejected`, () => {
      const { drivers } = setUp();
      assert.throws(
        () => drivers.validate({ name, endpoint: "/e", versions }),
        (error: Error) => error.message.startsWith("invalid driver name ") && error.message.length < 10_000,
      );
    });

  for (const [given, reason] of [
    [[], "empty list of supported gRPC services (aka supported versions)"],
    [
      ["v9.X"],
      'none of services supported by the plugin (["v9.X"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
    ],
  ] as const)
    it(`${JSON.stringify(given)} are rejected`, () => {
      const { drivers } = setUp();
      assert.throws(() => drivers.validate({ name: "d", endpoint: "/e", versions: given }), {
        message: `invalid supported gRPC versions of DRA driver plugin d at endpoint /e: ${reason}`,
      });
    });
});

describe("the instances of a driver", () => {
  it("a driver that is not registered is reported by name", () => {
    assert.throws(() => setUp().drivers.get("d"), { message: "DRA driver d is not registered" });
  });

  it("an endpoint is registered once", async () => {
    const { drivers } = setUp();
    await drivers.register({ name: "d", endpoint: "/e", versions });
    await assert.rejects(drivers.register({ name: "d", endpoint: "/e", versions }), {
      message: "endpoint /e already registered for DRA driver plugin d",
    });
  });

  it("the newest connected one is called, or the newest if none is connected", async () => {
    const { drivers, instances } = setUp({ u1: { error: "" } });
    for (const endpoint of ["/1", "/2", "/3"]) await drivers.register({ name: "d", endpoint, versions });
    const called = async () => {
      await drivers.get("d").unprepare([claims[0]!], never);
      const found = [...instances].filter(([, { calls }]) => calls.splice(0).length > 0);
      return found.map(([endpoint]) => endpoint).join();
    };
    assert.equal(await called(), "/3");
    instances.get("/1")!.connect(true);
    instances.get("/2")!.connect(true);
    assert.equal(await called(), "/2");
    instances.get("/2")!.connect(false);
    assert.equal(await called(), "/1");
    await drivers.deregister({ name: "d", endpoint: "/1", versions });
    assert.equal(instances.get("/1")?.isClosed, true);
    assert.equal(await called(), "/3");
  });

  it("is usable while one of them is connected", async () => {
    const { drivers, instances, usable } = setUp();
    for (const endpoint of ["/1", "/2"]) await drivers.register({ name: "d", endpoint, versions });
    instances.get("/1")!.connect(true);
    await drivers.deregister({ name: "d", endpoint: "/2", versions });
    instances.get("/1")!.connect(false);
    assert.deepEqual(usable, ["d false", "d false", "d true", "d connected", "d true", "d false"]);
  });
});

describe("the result of a call", () => {
  const ok = { devices: [], error: "" };
  const cases: [string, Record<string, unknown>, string][] = [
    [
      "a claim failed",
      { u1: ok, u2: { error: "no" } },
      "NodePrepareResources failed for ResourceClaim b: no",
    ],
    [
      "a claim failed with a message of a megabyte",
      { u1: { error: "x".repeat(2 ** 20) }, u2: ok },
      `NodePrepareResources failed for ResourceClaim a: ${"x".repeat(4093)}...`,
    ],
    ["a claim is missing", { u1: ok }, "NodePrepareResources skipped 1 ResourceClaims"],
    [
      "a claim was not requested",
      { u1: ok, u2: ok, u3: ok },
      "NodePrepareResources returned result for unknown claim UID u3",
    ],
  ];
  for (const [what, results, message] of cases)
    it(`${what}: the call fails`, async () => {
      const { drivers } = setUp(results);
      await drivers.register({ name: "d", endpoint: "/e", versions });
      await assert.rejects(drivers.get("d").prepare(claims, never), { message });
    });
});
