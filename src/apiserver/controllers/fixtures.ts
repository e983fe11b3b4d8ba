import assert from "node:assert/strict";
import { msFromNow } from "../../lib/base/clock.ts";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import type { Objects, Unstructured } from "../definition.ts";
import { allowAll } from "../fixtures.ts";
import { testDefinitions } from "../kinds/fixtures.ts";
import { ApiServer } from "../server.ts";
import { memoryStore } from "../storage/fixtures.ts";
import { controllers, handledPropagation } from "./controllers.ts";

export interface Cluster {
  readonly objects: Objects;
  readonly clock: FakeClock;
  get(resource: string, namespace: string, name: string): Promise<Unstructured | undefined>;
  /** Advances the clock in small steps until the condition is true. */
  until(description: string, condition: () => Promise<boolean>, withinMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export const rootCa = "-----BEGIN CERTIFICATE-----\n";

/** For tests: all kinds and controllers over a real store, in simulated time and without HTTP. */
export async function startCluster(): Promise<Cluster> {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const definitions = testDefinitions(clock);
  const { objects } = new ApiServer({
    store,
    definitions,
    clock,
    propagation: handledPropagation,
    ...allowAll,
  });
  const parts = controllers({
    objects,
    definitions,
    clock,
    rootCa,
    logger: silentLogger,
    builtIns: { apiAddress: "10.0.0.1", apiPort: 6443, serviceRange: "10.96.0.0/16", servicePort: 443 },
  });
  const ending = new AbortController();
  for (const part of parts) {
    const started = part.start(ending.signal);
    await settleUntil(clock, started);
  }
  return {
    objects,
    clock,
    async get(resource, namespace, name) {
      return await objects.get({ resource, namespace, name });
    },
    async until(description, condition, withinMs = 5_000) {
      const end = msFromNow(clock, withinMs);
      while (!(await condition())) {
        assert.ok(clock.monotonic() < end, `${description}: not within ${withinMs} ms`);
        await clock.advance(Math.max(20, withinMs / 250));
      }
    },
    async stop() {
      ending.abort();
      await Promise.all(parts.map(({ done }) => done));
      await store.close();
    },
  };
}

async function settleUntil(clock: FakeClock, work: Promise<void>): Promise<void> {
  let done = false;
  const finished = work.finally(() => {
    done = true;
  });
  while (!done) await Promise.race([finished, clock.advance(10)]);
  await finished;
}
