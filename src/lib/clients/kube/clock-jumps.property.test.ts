import { unaffectedByJumps } from "../../../../test/builders/clock-jumps.ts";
import { sleep } from "../../base/clock.ts";
import { silentLogger } from "../../base/logger.ts";
import { Reflector } from "./reflector.ts";
import type { KubeTransport } from "./transport-interface.ts";
import { StreamGuard } from "./watch-stream-guard.ts";

unaffectedByJumps("the timeout of a silent watch", 200_000, async (clock) => {
  const guard = new StreamGuard(clock, new AbortController().signal, {
    idleTimeoutMs: 60_000,
    lifetimeMs: 170_000,
  });
  const seen: string[] = [];
  guard.signal.addEventListener("abort", () => seen.push(`${clock.elapsedMs} ended`));
  for (const pauseMs of [10_000, 50_000, 40_000]) {
    await clock.advance(pauseMs);
    guard.received();
  }
  await clock.advance(100_000);
  return seen;
});

unaffectedByJumps(
  "retries of a list during an outage, and its health",
  400_000,
  async (clock) => {
    const seen: string[] = [];
    const unreachable = async (): Promise<never> => {
      seen.push(`${clock.elapsedMs} request`);
      await sleep(clock, 20);
      throw new Error("connection refused");
    };
    const transport: KubeTransport = {
      request: unreachable,
      stream: unreachable,
      onReconnect: () => () => {},
      close: () => {},
    };
    const reflector = new Reflector<object & { metadata?: object }>({
      name: "things",
      path: "/api/v1/things",
      transport,
      clock,
      logger: silentLogger,
      transform: (raw) => raw,
      onChange: () => {},
      random: () => 0.5,
    });
    const stop = new AbortController();
    await reflector.start(stop.signal);
    for (let i = 0; i < 40; i++) {
      await clock.advance(10_000);
      seen.push(`${clock.elapsedMs} ${reflector.health().ok}`);
    }
    stop.abort();
    await clock.advance(0);
    return seen;
  },
  { numRuns: 15 },
);
