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
  function watched() {
    const metrics = createMetrics();
    let change = (_: RuntimeState) => {};
    let failure: Error | undefined;
    let calls = 0;
    watchRuntimeSupport({
      cri: {
        async runtimeConfig() {
          calls++;
          if (failure) throw failure;
          return create(RuntimeConfigResponseSchema);
        },
      },
      connection: {
        onChange(listener) {
          change = listener;
          return () => {};
        },
      },
      metrics,
      logger: silentLogger,
    });
    const becomes = async (kind: "up" | "unavailable", error?: Error) => {
      failure = error;
      change({ kind } as RuntimeState);
      await settle();
      const { values } = await metrics.registry.getSingleMetric("kubelet_cri_losing_support")!.get();
      return values.map(({ labels, value }) => [labels.version, value]);
    };
    return { becomes, calls: () => calls };
  }

  it("is reported with the version that drops it, until it is upgraded", async () => {
    const { becomes } = watched();
    const old = new CriError("UNIMPLEMENTED", "RuntimeConfig", "unknown method RuntimeConfig");
    assert.deepEqual(await becomes("up", old), [["1.37.0", 1]]);
    assert.deepEqual(await becomes("unavailable", old), [["1.37.0", 1]]);
    assert.deepEqual(await becomes("up", old), [["1.37.0", 1]], "once, however often it is restarted");
    assert.deepEqual(await becomes("up"), []);
  });

  it("a runtime that supports RuntimeConfig, or cannot be reached, is not reported", async () => {
    const { becomes, calls } = watched();
    assert.deepEqual(await becomes("unavailable"), []);
    assert.equal(calls(), 0);
    assert.deepEqual(await becomes("up", new CriError("UNAVAILABLE", "RuntimeConfig", "gone")), []);
    assert.deepEqual(await becomes("up"), []);
  });
});
