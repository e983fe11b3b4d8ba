import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { type EventHandlers, eventTable, type HandlerName } from "./event-table.ts";
import type { EventKind, KubeletEvent } from "./events.ts";
import { SyncLoop } from "./sync-loop.ts";

/** An event, which of its handlers fail, and which events it causes. */
interface Planned {
  readonly id: number;
  readonly kind: EventKind;
  readonly failing: readonly number[];
  readonly causes: readonly Planned[];
  /** When it is posted: in the same microtask as the previous event, after a microtask, or after I/O. */
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

test("no event is lost or reordered, and an error affects only its handler", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(planned(2), { maxLength: 12 }), async (plan) => {
      const events = numbered(plan);
      const posted: number[] = [];
      const handled: number[] = [];
      const ran = new Map<number, string[]>();
      const failed = new Map<number, string[]>();
      let depth = 0;
      const logger: Logger = {
        ...silentLogger,
        error: (_message, fields) => {
          const id = handled.at(-1) ?? -1;
          failed.set(id, [...(failed.get(id) ?? []), String(fields?.handler)]);
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
        } as KubeletEvent);
      };
      const handlers: Record<string, Record<string, (event: KubeletEvent) => void>> = {};
      for (const [kind, names] of Object.entries(eventTable))
        for (const [nth, name] of (names as readonly HandlerName[]).entries()) {
          const handle = (event: KubeletEvent) => {
            assert.equal(depth++, 0, "a handler within a handler");
            const { event: current } = event as unknown as { event: Planned };
            if (handled.at(-1) !== current.id) handled.push(current.id);
            ran.set(current.id, [...(ran.get(current.id) ?? []), name]);
            if (nth === 0) for (const cause of current.causes) post(cause);
            depth--;
            if (current.failing.includes(nth)) throw new Error("an error");
          };
          handlers[name] = { ...handlers[name], [kind]: handle };
        }
      loop.subscribe(handlers as Partial<EventHandlers>);
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
        assert.deepEqual(ran.get(id), names, "each handler, even after a failed one");
        assert.deepEqual(
          failed.get(id) ?? [],
          names.filter((_, nth) => failing.includes(nth)),
        );
      }
    }),
    { numRuns: 300 },
  );
});
