import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { eventTable, type ReactorName, type Reactors } from "./event-table.ts";
import type { EventKind, KubeletEvent } from "./events.ts";
import { SyncLoop } from "./sync-loop.ts";

/** An event that stands for itself: which reactions fail, and what each of them posts. */
interface Planned {
  readonly id: number;
  readonly kind: EventKind;
  readonly failing: readonly number[];
  readonly causes: readonly Planned[];
  /** Where it is posted: within the same turn as the one before it, after a microtask, or after I/O. */
  readonly gap: "none" | "microtask" | "turn";
}

const kinds = (Object.keys(eventTable) as EventKind[]).filter((kind) => kind !== "tick");

const planned = (depth: number): fc.Arbitrary<Omit<Planned, "id">> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    failing: fc.uniqueArray(fc.nat({ max: 5 }), { maxLength: 2 }),
    causes: depth === 0 ? fc.constant([]) : fc.array(planned(depth - 1) as never, { maxLength: 2 }),
    gap: fc.constantFrom("none", "microtask", "turn"),
  }) as never;

function numbered(events: readonly Omit<Planned, "id">[], next = { id: 0 }): Planned[] {
  return events.map((event) => ({ ...event, id: next.id++, causes: numbered(event.causes, next) }));
}

const all = (events: readonly Planned[]): Planned[] => events.flatMap((e) => [e, ...all(e.causes)]);

test("whatever is posted by whom: nothing is lost, nothing overtakes, and a fault costs its reaction only", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(planned(2), { maxLength: 12 }), async (plan) => {
      const events = numbered(plan);
      const posted: number[] = [];
      const handled: number[] = [];
      const reactions = new Map<number, string[]>();
      const failed = new Map<number, string[]>();
      let depth = 0;
      const logger: Logger = {
        ...silentLogger,
        error: (_message, fields) => {
          const id = handled.at(-1) ?? -1;
          failed.set(id, [...(failed.get(id) ?? []), String(fields?.reactor)]);
        },
      };
      const loop = new SyncLoop({ clock: new FakeClock(), logger });
      const post = (event: Planned) => {
        posted.push(event.id);
        loop.post({
          kind: event.kind,
          uid: "u",
          change: { op: "ADD", source: "file", pods: [] },
          result: {},
          event,
        } as unknown as KubeletEvent);
      };
      const reactors: Record<string, Record<string, (event: KubeletEvent) => void>> = {};
      for (const [kind, names] of Object.entries(eventTable))
        for (const [nth, who] of (names as readonly ReactorName[]).entries()) {
          const react = (event: KubeletEvent) => {
            assert.equal(depth++, 0, "a reaction within a reaction");
            const { event: mine } = event as unknown as { event: Planned };
            if (handled.at(-1) !== mine.id) handled.push(mine.id);
            reactions.set(mine.id, [...(reactions.get(mine.id) ?? []), who]);
            if (nth === 0) for (const cause of mine.causes) post(cause);
            depth--;
            if (mine.failing.includes(nth)) throw new Error("a fault");
          };
          reactors[who] = { ...reactors[who], [kind]: react };
        }
      loop.subscribe(reactors as unknown as Partial<Reactors>);
      const stop = new AbortController();
      await loop.start(stop.signal);
      for (const event of events) {
        if (event.gap === "microtask") await Promise.resolve();
        if (event.gap === "turn") await settle(1);
        post(event);
      }
      await settle(2);
      stop.abort();
      assert.deepEqual(handled, posted, "in the order in which they were posted, each once");
      assert.equal(handled.length, all(events).length);
      for (const { id, kind, failing } of all(events)) {
        const names = eventTable[kind] as readonly string[];
        assert.deepEqual(reactions.get(id), names, "each reaction, also after one that failed");
        assert.deepEqual(
          failed.get(id) ?? [],
          names.filter((_, nth) => failing.includes(nth)),
        );
      }
    }),
    { numRuns: 300 },
  );
});
