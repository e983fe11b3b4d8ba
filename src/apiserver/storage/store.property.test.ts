import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { settle } from "../../lib/base/fake-clock.ts";
import type { WatchEvent } from "./change-event.ts";
import { isStoreError } from "./errors.ts";
import { anObject, memoryStore } from "./fixtures.ts";
import type { ApiObject, ObjectKey, StoredObject } from "./object.ts";
import type { Store } from "./store.ts";

// Random writes, lists, watchers that start and stop, and compaction: every watcher that starts from a list receives exactly
// the history after it, or an exact prefix of it and then Expired.

type Kind = "create" | "update" | "delete";
interface Write {
  readonly kind: Kind;
  readonly resource: string;
  readonly name: string;
  readonly on: boolean;
}
type Command =
  | { readonly kind: "write"; readonly writes: readonly Write[] }
  | { readonly kind: "watch"; readonly limit: number; readonly selective: boolean; readonly eager: boolean }
  | { readonly kind: "read"; readonly watcher: number; readonly events: number }
  | { readonly kind: "stop"; readonly watcher: number }
  | { readonly kind: "compact"; readonly keep: number };

const isOn = (object: ApiObject) => object.on === true;
const keyOf = (write: Write): ObjectKey => ({ resource: write.resource, namespace: "", name: write.name });

/** The expected history, recorded independently of the store: each acknowledged write. */
interface Fact {
  readonly version: number;
  readonly type: "put" | "delete";
  readonly name: string;
  readonly on: boolean;
}

/** The expected state of a client that lists pods at a version. */
function stateAt(acks: readonly Fact[], version: number): Map<string, Fact> {
  const state = new Map<string, Fact>();
  for (const fact of acks) {
    if (fact.version > version) break;
    if (fact.type === "put") state.set(fact.name, fact);
    else state.delete(fact.name);
  }
  return state;
}

/** The events that a watcher that knows the state of a version must receive after it. */
function eventsAfter(acks: readonly Fact[], version: number, selective: boolean): string[] {
  const known = new Set<string>();
  for (const fact of stateAt(acks, version).values()) if (!selective || fact.on) known.add(fact.name);
  const events: string[] = [];
  for (const fact of acks) {
    if (fact.version <= version) continue;
    const visible = fact.type === "put" && (!selective || fact.on);
    if (visible) events.push(`${known.has(fact.name) ? "MODIFIED" : "ADDED"} ${fact.name}@${fact.version}`);
    else if (known.has(fact.name)) events.push(`DELETED ${fact.name}@${fact.version}`);
    if (visible) known.add(fact.name);
    else known.delete(fact.name);
  }
  return events;
}

const describe = (event: WatchEvent) =>
  event.type === "BOOKMARK"
    ? "BOOKMARK"
    : `${event.type} ${event.object.value.metadata.name}@${event.object.value.metadata.resourceVersion}`;

class Watcher {
  readonly seen: string[] = [];
  readonly stop = new AbortController();
  readonly from: number;
  readonly selective: boolean;
  readonly #watch: AsyncGenerator<WatchEvent, void, undefined>;
  expired = false;
  #pump: Promise<void> | undefined;

  constructor(store: Store, from: number, selective: boolean, eager: boolean) {
    this.from = from;
    this.selective = selective;
    const scope = { resource: "pods", matches: selective ? isOn : undefined };
    const start = { kind: "after", version: from } as const;
    this.#watch = store.watch(scope, { start, signal: this.stop.signal });
    if (eager) this.#pump = this.#run(Number.POSITIVE_INFINITY);
  }

  get eager(): boolean {
    return this.#pump !== undefined;
  }

  /** Reads a number of events that must exist. */
  async read(events: number): Promise<void> {
    if (this.eager || this.expired) return;
    let done = false;
    const reading = this.#run(events).then(() => {
      done = true;
    });
    for (let i = 0; i < 100 && !done; i++) await settle(1);
    assert.ok(done, `fewer than ${events} more events were received`);
    await reading;
  }

  /** After this, all emitted events are in `seen`. */
  async end(): Promise<void> {
    this.stop.abort();
    await this.#pump;
    if (!this.expired) assert.equal((await this.#watch.next()).done, true);
  }

  async #run(events: number): Promise<void> {
    try {
      for (let i = 0; i < events; i++) {
        const { done, value } = await this.#watch.next();
        if (done) return;
        this.seen.push(describe(value));
      }
    } catch (error) {
      assert.ok(isStoreError(error, "Expired"), String(error));
      this.expired = true;
    }
  }
}

class Simulation {
  readonly store: Store;
  readonly acks: Fact[] = [];
  readonly watchers: Watcher[] = [];
  expirations = 0;

  constructor(recentEvents: number) {
    this.store = memoryStore({ recentEvents });
  }

  async run(command: Command): Promise<void> {
    switch (command.kind) {
      case "write":
        return this.#write(command.writes);
      case "watch":
        return this.#listAndWatch(command);
      case "read": {
        const watcher = this.#pick(command.watcher);
        if (watcher) await watcher.read(Math.min(command.events, this.#due(watcher)));
        return;
      }
      case "stop": {
        const watcher = this.#pick(command.watcher);
        if (!watcher) return;
        this.watchers.splice(this.watchers.indexOf(watcher), 1);
        await watcher.end();
        this.#check(watcher, false);
        return;
      }
      case "compact":
        return this.store.compact(command.keep);
      default:
        return command satisfies never;
    }
  }

  async finish(): Promise<void> {
    for (const watcher of this.watchers) {
      if (watcher.eager)
        for (let i = 0; i < 100 && !watcher.expired && this.#due(watcher) > 0; i++) await settle(1);
      else await watcher.read(this.#due(watcher));
    }
    await settle(1);
    for (const watcher of this.watchers) {
      await watcher.end();
      this.#check(watcher, true);
    }
    this.store.close();
  }

  async #write(writes: readonly Write[]): Promise<void> {
    const results = await Promise.allSettled(writes.map((write) => this.#send(write)));
    for (const [i, result] of results.entries()) {
      const { kind, resource, name, on } = writes[i]!;
      if (result.status === "rejected") {
        assert.ok(isStoreError(result.reason) && ["AlreadyExists", "NotFound"].includes(result.reason.code));
      } else if (resource === "pods") {
        this.acks.push({
          version: result.value.version,
          type: kind === "delete" ? "delete" : "put",
          name,
          on,
        });
      }
    }
    this.acks.sort((a, b) => a.version - b.version);
  }

  #send(write: Write): Promise<StoredObject> {
    const key = keyOf(write);
    const object = anObject(key, { on: write.on, n: this.store.currentVersion });
    switch (write.kind) {
      case "create":
        return this.store.create(key, object);
      case "update":
        return this.store.update(key, {}, (current) => ({
          ...object,
          before: current.metadata.resourceVersion,
        }));
      case "delete":
        return this.store.delete(key);
      default:
        return write.kind satisfies never;
    }
  }

  /** Lists in pages, with writes between them, and watches from the version of the list. */
  async #listAndWatch(command: Command & { kind: "watch" }): Promise<void> {
    const scope = { resource: "pods", matches: command.selective ? isOn : undefined };
    const items: StoredObject[] = [];
    let version: number | undefined;
    let continueToken: string | undefined;
    do {
      const page = await this.store.list(scope, { limit: command.limit, continueToken });
      version ??= page.version;
      assert.equal(page.version, version);
      items.push(...page.items);
      continueToken = page.continueToken;
      if (continueToken)
        await this.#write([{ kind: "update", resource: "pods", name: "b", on: items.length % 2 === 0 }]);
    } while (continueToken);
    const expected = [...stateAt(this.acks, version).values()]
      .filter((fact) => !command.selective || fact.on)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((fact) => `${fact.name}@${fact.version}`);
    const listed = items.map((item) => `${item.key.name}@${item.value.metadata.resourceVersion}`);
    assert.deepEqual(listed, expected);
    this.watchers.push(new Watcher(this.store, version, command.selective, command.eager));
  }

  #pick(index: number): Watcher | undefined {
    return this.watchers[index % Math.max(1, this.watchers.length)];
  }

  #due(watcher: Watcher): number {
    return eventsAfter(this.acks, watcher.from, watcher.selective).length - watcher.seen.length;
  }

  #check(watcher: Watcher, whole: boolean): void {
    const expected = eventsAfter(this.acks, watcher.from, watcher.selective);
    if (watcher.expired) {
      this.expirations++;
      const last = watcher.seen.at(-1)?.split("@")[1] ?? watcher.from;
      assert.ok(Number(last) < this.store.compactedVersion, "expired without need");
    }
    if (whole && !watcher.expired) assert.deepEqual(watcher.seen, expected);
    else assert.deepEqual(watcher.seen, expected.slice(0, watcher.seen.length));
  }
}

const write: fc.Arbitrary<Write> = fc.record({
  kind: fc.constantFrom<Kind>("create", "update", "update", "delete"),
  resource: fc.constantFrom("pods", "pods", "pods", "nodes"),
  name: fc.constantFrom("a", "b", "c", "d"),
  on: fc.boolean(),
});

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      writes: fc.array(write, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("watch" as const),
      limit: fc.integer({ min: 0, max: 3 }),
      selective: fc.boolean(),
      eager: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      watcher: fc.nat(9),
      events: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stop" as const), watcher: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact" as const), keep: fc.nat(4) }) },
);

test("every watcher that starts from a list receives exactly the history", async () => {
  let expirations = 0;
  let events = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 8 }),
      fc.array(command, { minLength: 8, maxLength: 20 }),
      async (recent, commands) => {
        const simulation = new Simulation(recent);
        for (const each of commands) await simulation.run(each);
        await simulation.finish();
        expirations += simulation.expirations;
        for (const watcher of simulation.watchers) events += watcher.seen.length;
      },
    ),
    { numRuns: 2000 },
  );
  // The runs must have covered both: received changes, and watchers that were too slow.
  assert.ok(events > 5_000, `${events} events`);
  assert.ok(expirations > 20, `${expirations} expirations`);
});
