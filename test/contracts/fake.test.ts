import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { createCriClient } from "../../src/lib/clients/cri/client.ts";
import { fakeImages, startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import { type ContractRuntime, describeRuntimeContract } from "./cri-contract.ts";

async function fake(options: { events?: boolean; crio?: boolean }): Promise<ContractRuntime> {
  const dir = await mkdtemp(join(tmpdir(), "fake-cri-"));
  const runtime = await startFakeRuntime({
    socketPath: join(dir, "cri.sock"),
    ...options,
    registry: {
      "127.0.0.1:9/no-such-image:1": {
        error: {
          code: "UNKNOWN",
          message:
            'failed to pull and unpack image "127.0.0.1:9/no-such-image:1": failed to resolve image: connection refused',
        },
      },
    },
  });
  const client = createCriClient({
    runtimeEndpoint: runtime.endpoint,
    requestTimeoutMs: 10_000,
    logger: silentLogger,
    clock: systemClock,
    metrics: createMetrics(),
  });
  return {
    client,
    busybox: fakeImages.busybox,
    logDir: join(dir, "pods"),
    podNetwork: true,
    isCrio: options.crio,
    stop: async () => {
      client.close();
      await runtime.close();
      await rm(dir, { recursive: true });
    },
  };
}

describeRuntimeContract("fake runtime", () => fake({}));
describeRuntimeContract("fake runtime with events", () => fake({ events: true }));
describeRuntimeContract("fake CRI-O", () => fake({ crio: true }));
describeRuntimeContract("fake CRI-O with events", () => fake({ crio: true, events: true }));
