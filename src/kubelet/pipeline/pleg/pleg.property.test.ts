import { unaffectedByJumps } from "../../../../test/builders/clock-jumps.ts";
import { settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { ObservedPods } from "../../state/observed-pods.ts";
import { FakeRuntimeView } from "./fake-runtime-view.ts";
import { Pleg } from "./pleg.ts";

unaffectedByJumps(
  "the relists and the health of PLEG",
  500_000,
  async (clock) => {
    const view = new FakeRuntimeView();
    view.sandboxes.push({ id: "s1", uid: "u", ready: true });
    const relists: number[] = [];
    let hangs = false;
    view.before = (call) => {
      if (!call.startsWith("list sandboxes")) return undefined;
      relists.push(clock.elapsedMs);
      return hangs ? new Promise<void>(() => {}) : undefined;
    };
    const stop = new AbortController();
    const pleg = new Pleg({
      runtime: view.runtime,
      observed: new ObservedPods(),
      clock,
      logger: silentLogger,
      relistEveryMs: () => 10_000,
      onEvent: () => {},
    });
    await pleg.start(stop.signal);
    await settle();
    const health: string[] = [];
    for (let second = 0; second < 50; second++) {
      // From then on the runtime does not respond: PLEG is unhealthy after three minutes, and not before.
      if (second === 20) hangs = true;
      await clock.advance(10_000);
      const { ok, reason } = { reason: "", ...pleg.health() };
      health.push(`${clock.elapsedMs} ${ok} ${reason}`);
    }
    stop.abort();
    await clock.advance(0);
    return { relists, health };
  },
  { numRuns: 15 },
);
