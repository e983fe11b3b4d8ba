import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { RpcError } from "../../../lib/clients/plugin-rpc/rpc-error.ts";
import {
  HealthStatus,
  NodeWatchResourcesResponseSchema,
} from "../../../lib/gen/drahealth/v1alpha1/api_pb.js";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ClaimState } from "./claim-state.ts";
import { DevicesHealth } from "./device-health.ts";
import { watchHealth } from "./health-watch.ts";
import { resourceStatuses } from "./resource-status.ts";

function setUp() {
  const clock = new FakeClock();
  const changes: string[] = [];
  const health = new DevicesHealth(clock, (driver) => changes.push(driver));
  const report = (deviceName: string, state: "Healthy" | "Unhealthy", timeoutMs = 30_000, message = "") =>
    health.report("d", [{ poolName: "p", deviceName, health: state, timeoutMs, message }]);
  return { clock, changes, health, report, of: (name: string) => health.get("d", "p", name).health };
}

describe("the health of devices", () => {
  it("is unknown until reported, and after the driver has disconnected", () => {
    const { health, report, of } = setUp();
    assert.equal(of("x"), "Unknown");
    report("x", "Healthy");
    assert.equal(of("x"), "Healthy");
    health.clear("d");
    assert.equal(of("x"), "Unknown");
  });

  it("only changes are passed on", () => {
    const { changes, report } = setUp();
    report("x", "Healthy");
    report("x", "Healthy");
    assert.equal(changes.length, 1);
    report("x", "Unhealthy");
    report("x", "Unhealthy", 30_000, "too hot");
    assert.equal(changes.length, 3);
  });

  it("times out without a report, which is a change, and a report of another device does not prolong it", async () => {
    const { clock, changes, report, of } = setUp();
    report("x", "Healthy");
    await clock.advance(20_000);
    report("y", "Healthy", 60_000);
    await clock.advance(10_001);
    assert.deepEqual([of("x"), of("y"), changes.length], ["Unknown", "Healthy", 3]);
    await clock.advance(60_000);
    assert.deepEqual([of("x"), of("y"), changes.length], ["Unknown", "Unknown", 4]);
  });
});

describe("a driver that reports too many devices", () => {
  const devices = (count: number, prefix = "x", timeoutMs = 30_000) =>
    Array.from({ length: count }, (_, i) => ({
      poolName: "p",
      deviceName: `${prefix}${i}`,
      health: "Unhealthy" as const,
      message: "",
      timeoutMs,
    }));

  it("has the health of 10,000 of them, in one report or in many", () => {
    const { health, changes, of } = setUp();
    assert.equal(health.report("d", devices(300_000)), 290_000);
    assert.deepEqual([of("x0"), of("x9999"), of("x10000")], ["Unhealthy", "Unhealthy", "Unknown"]);
    assert.equal(health.report("d", devices(1, "y")), 1);
    assert.equal(health.report("other", devices(1)), 0, "other drivers are not affected");
    assert.equal(changes.length, 2);
  });

  it("has that of others when the first are no longer reported", async () => {
    const { clock, health, of } = setUp();
    health.report("d", devices(10_000));
    await clock.advance(30_001);
    assert.equal(health.report("d", devices(10_000, "y", Number.MAX_VALUE)), 0);
    assert.deepEqual([of("x0"), of("y0")], ["Unknown", "Unhealthy"]);
  });
});

describe("the watch of a driver's health", () => {
  const device = (health: HealthStatus, seconds: bigint, message = "") => ({
    device: { poolName: "p", deviceName: "x" },
    health,
    message,
    healthCheckTimeoutSeconds: seconds,
  });
  it("reports each message, clears when the stream ends, and reconnects after 5 s", async () => {
    const { clock, health, of } = setUp();
    const stop = new AbortController();
    let streams = 0;
    let end: (error?: Error) => void = () => {};
    let send: (message: never) => void = () => {};
    const stream = (_: unknown, onMessage: (message: never) => void) => {
      streams++;
      send = onMessage;
      return new Promise<void>((resolve, reject) => {
        end = (error) => (error ? reject(error) : resolve());
      });
    };
    const done = watchHealth(
      { health, clock, logger: silentLogger },
      "d",
      { stream: stream as never },
      stop.signal,
    );
    const message = (...devices: ReturnType<typeof device>[]) =>
      send(create(NodeWatchResourcesResponseSchema, { devices }) as never);
    message(device(HealthStatus.UNHEALTHY, 0n, "x".repeat(2000)));
    assert.equal(of("x"), "Unhealthy");
    assert.equal(health.get("d", "p", "x").message, `${"x".repeat(1021)}...`);
    message(device(HealthStatus.HEALTHY, 90n));
    await clock.advance(80_000);
    assert.equal(of("x"), "Healthy");
    end(new RpcError("UNAVAILABLE", "NodeWatchResources", "gone"));
    await settle();
    assert.equal(of("x"), "Unknown");
    await clock.advance(4_999);
    assert.equal(streams, 1);
    await clock.advance(1);
    assert.equal(streams, 2);
    end(new RpcError("UNIMPLEMENTED", "NodeWatchResources", "no"));
    await done;
    assert.equal(streams, 2, "a driver without health reports is not called again");
  });
});

describe("the resource status of a container", () => {
  const claim: ClaimState = {
    uid: "u",
    name: "x",
    namespace: "ns",
    pods: new Set<PodUid>(),
    drivers: new Map([
      [
        "d",
        {
          isPrepared: true,
          devices: [
            { poolName: "p", deviceName: "one", requestNames: ["r1"], cdiDeviceIds: ["cdi=1", "cdi=2"] },
            { poolName: "p", deviceName: "two", requestNames: ["r2"], cdiDeviceIds: [] },
            { poolName: "p", deviceName: "both", requestNames: [], cdiDeviceIds: ["cdi=1"] },
          ],
        },
      ],
    ]),
  };
  const statuses = (claims: { name: string; request?: string }[], withMessage = true) =>
    resourceStatuses({
      container: { name: "c", resources: { claims } },
      withMessage,
      claimOf: (name) => (name === "a" ? claim : undefined),
      healthOf: (_, pool, device) => ({ health: "Healthy", message: `${pool} ${device}` }),
    });
  // parity: gate ResourceHealthStatusMessage=true as withMessage, gate ResourceHealthStatusMessage=false as withMessage
  it("lists the devices of each claim and request once, by their first CDI ID or by name", () => {
    assert.deepEqual(statuses([{ name: "a" }], false), [
      {
        name: "claim:a",
        resources: [
          { resourceID: "cdi=1", health: "Healthy" },
          { resourceID: "d/p/two", health: "Healthy" },
        ],
      },
    ]);
    assert.deepEqual(statuses([{ name: "a", request: "r1/sub" }]), [
      {
        name: "claim:a/r1/sub",
        resources: [{ resourceID: "cdi=1", health: "Healthy", message: "p one" }],
      },
    ]);
  });
  it("is empty without known claims", () => {
    assert.deepEqual(statuses([]), []);
    assert.deepEqual(statuses([{ name: "unknown" }]), []);
  });
});
