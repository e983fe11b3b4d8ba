import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { CriError } from "../../lib/clients/cri/cri-error.ts";
import type { RuntimeState } from "../../lib/clients/cri/runtime-state.ts";
import { RuntimeConfigResponseSchema } from "../../lib/gen/runtime/v1/api_pb.js";
import { watchRuntimeSupport } from "./runtime-support.ts";

describe("a runtime that loses support", () => {
  function setUp() {
    const metrics = createMetrics();
    let change = (_: RuntimeState) => {};
    let failure: Error | undefined;
    let calls = 0;
    let driver = 1;
    const errors: unknown[] = [];
    watchRuntimeSupport({
      cri: {
        async runtimeConfig() {
          calls++;
          if (failure) throw failure;
          return create(RuntimeConfigResponseSchema, { linux: { cgroupDriver: driver } });
        },
      },
      connection: {
        onChange(listener) {
          change = listener;
          return () => {};
        },
      },
      cgroupDriver: "cgroupfs",
      metrics,
      logger: { ...silentLogger, error: (_, fields) => errors.push(fields) },
    });
    const becomes = async (kind: "up" | "unavailable", error?: Error) => {
      failure = error;
      change({ kind } as RuntimeState);
      await settle();
      const { values } = await metrics.registry.getSingleMetric("kubelet_cri_losing_support")!.get();
      return values.map(({ labels, value }) => [labels.version, value]);
    };
    const uses = (other: number) => {
      driver = other;
    };
    return { becomes, uses, errors, calls: () => calls };
  }

  it("is reported with the version that drops it, until it is upgraded", async () => {
    const { becomes } = setUp();
    const old = new CriError("UNIMPLEMENTED", "RuntimeConfig", "unknown method RuntimeConfig");
    assert.deepEqual(await becomes("up", old), [["1.37.0", 1]]);
    assert.deepEqual(await becomes("unavailable", old), [["1.37.0", 1]]);
    assert.deepEqual(await becomes("up", old), [["1.37.0", 1]], "once, however often it is restarted");
    assert.deepEqual(await becomes("up"), []);
  });

  it("a runtime that supports RuntimeConfig, or cannot be reached, is not reported", async () => {
    const { becomes, calls } = setUp();
    assert.deepEqual(await becomes("unavailable"), []);
    assert.equal(calls(), 0);
    assert.deepEqual(await becomes("up", new CriError("UNAVAILABLE", "RuntimeConfig", "gone")), []);
    assert.deepEqual(await becomes("up"), []);
  });

  it("is reported if it uses another cgroup driver than the kubelet", async () => {
    const { becomes, uses, errors } = setUp();
    await becomes("up");
    assert.deepEqual(errors, []);
    uses(0);
    await becomes("up");
    assert.deepEqual(errors, [{ runtime: "systemd", kubelet: "cgroupfs" }]);
  });
});
