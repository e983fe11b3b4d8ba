import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { configMap, mapsPath, testApi } from "../../src/apiserver/rest/fixtures.ts";
import type { ApiObject } from "../../src/apiserver/storage/object.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { parseKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { Reflector } from "../../src/lib/clients/kube/reflector.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { HttpWatcher, type WatchSession } from "./http-watcher.ts";

// Random writes over HTTP, watchers that start, stop and are disconnected at any byte, and compaction: a watcher that starts
// from a list receives exactly the later events, or an exact prefix of them and then the error that the rest is compacted.

const names = ["n0", "n1", "n2", "n3"];
/** The last write of each history matches all of these. */
const selectors = {
  "": () => true,
  "labelSelector=on%3Dyes": (object: ApiObject) => labelsOf(object).on === "yes",
  "fieldSelector=metadata.name%3Dn1": (object: ApiObject) => object.metadata.name === "n1",
  "labelSelector=on%20notin%20(no)&fieldSelector=metadata.name!%3Dn0": (object: ApiObject) =>
    labelsOf(object).on !== "no" && object.metadata.name !== "n0",
};
type Selector = keyof typeof selectors;
const allSelectors = Object.keys(selectors) as Selector[];

interface Change {
  readonly version: number;
  readonly name: string;
  readonly before: ApiObject | undefined;
  readonly after: ApiObject | undefined;
}

function labelsOf(object: ApiObject): Record<string, string> {
  return (object.metadata.labels as Record<string, string> | undefined) ?? {};
}

function stateAt(history: readonly Change[], version: number, selector: Selector): Map<string, number> {
  const state = new Map<string, number>();
  for (const change of history) {
    if (change.version > version) break;
    if (change.after && selectors[selector](change.after)) state.set(change.name, change.version);
    else state.delete(change.name);
  }
  return state;
}

function eventsAfter(history: readonly Change[], version: number, selector: Selector): string[] {
  const matches = selectors[selector];
  return history
    .filter((change) => change.version > version)
    .flatMap(({ before, after, name, version: at }) => {
      const [matched, matchesNow] = [before && matches(before), after && matches(after)];
      if (!matched && !matchesNow) return [];
      return [`${matchesNow ? (matched ? "MODIFIED" : "ADDED") : "DELETED"} ${name}@${at}`];
    });
}

function checkSession(
  history: readonly Change[],
  session: WatchSession,
  selector: Selector,
  isLast: boolean,
): void {
  const { version, state, received, expired } = session;
  assert.deepEqual(
    sorted(state),
    sorted(stateAt(history, version, selector)),
    `the list at version ${version}`,
  );
  const expected = eventsAfter(history, version, selector);
  const events = received.map(({ text }) => text);
  const complete = isLast && !expired;
  assert.deepEqual(
    events,
    complete ? expected : expected.slice(0, events.length),
    `the events after version ${version}`,
  );
}

const sorted = (state: ReadonlyMap<string, number>) => [...state].sort(([a], [b]) => (a < b ? -1 : 1));

async function runHistory(
  seed: number,
  after: (end: () => Promise<void>) => void,
): Promise<Record<string, number>> {
  const { below } = seededRandom(seed);
  const api = await testApi(
    { after: (end) => after(end as () => Promise<void>) },
    {
      storeOptions: { recentEvents: 3 },
    },
  );
  const history: Change[] = [];
  const recorder = (async () => {
    const scope = { resource: "configmaps" };
    for await (const event of api.store.watch(scope, { start: { kind: "after", version: 0 } })) {
      if (event.type === "BOOKMARK") continue;
      const { version, object, previous } = event;
      history.push({
        version,
        name: object.key.name,
        before: previous?.value,
        after: event.type === "DELETED" ? undefined : object.value,
      });
    }
  })();
  const access = parseKubeconfig(kubeconfig(api.url), "test");
  const transport = new HttpKubeTransport({
    access,
    userAgent: "test",
    qps: 0,
    burst: 0,
    logger: silentLogger,
    clock: systemClock,
  });
  const abort = new AbortController();
  const clients = [false, true].map(
    (streamList) =>
      new Reflector<ApiObject>({
        name: "maps",
        path: mapsPath,
        transport,
        clock: systemClock,
        logger: silentLogger,
        streamList,
        transform: (raw) => raw as unknown as ApiObject,
      }),
  );
  for (const client of clients) await client.start(abort.signal);

  const watchers: HttpWatcher[] = [];
  const open = () =>
    watchers.push(new HttpWatcher(api.url + mapsPath, allSelectors[below(allSelectors.length)]!));
  const write = async () => {
    const name = names[below(names.length)]!;
    const body = configMap(name, { k: String(below(1000)) }, { labels: { on: below(2) ? "yes" : "no" } });
    const merge = { "content-type": "application/merge-patch+json" };
    switch (below(4)) {
      case 0:
        return api.send("POST", mapsPath, body);
      case 1:
        return api.send("DELETE", `${mapsPath}/${name}`);
      case 2:
        return api.send("PUT", `${mapsPath}/${name}`, body);
      default:
        return api.send("PATCH", `${mapsPath}/${name}`, { metadata: { labels: { on: "yes" } } }, merge);
    }
  };
  for (let step = 0; step < 60; step++) {
    const choice = below(20);
    if (choice < 3) open();
    else if (choice < 6 && watchers.length > 0) watchers[below(watchers.length)]!.disconnect();
    else if (choice === 6 && watchers.length > 0) {
      const watcher = watchers[below(watchers.length)]!;
      if (below(2)) watcher.hold();
      else watcher.release();
    } else if (choice === 7 && watchers.length > 1) watchers.splice(below(watchers.length), 1)[0]!.stop();
    else if (choice === 8) {
      // The watcher that records the expected history must not fall behind.
      while (history.length > 0 && history.at(-1)!.version < api.store.currentVersion) await turn();
      api.store.compact(below(3));
    } else await Promise.all(Array.from({ length: 1 + below(4) }, write));
  }
  open();
  for (const watcher of watchers) watcher.release();
  await api.send("DELETE", `${mapsPath}/n1`);
  const last = await api.send("POST", mapsPath, configMap("n1", { k: "end" }, { labels: { on: "yes" } }));
  const end = Number(last.body.metadata.resourceVersion);
  for (const watcher of watchers)
    await watcher.until((received, session) => received?.version === end || session?.version === end);
  for (const watcher of watchers) watcher.stop();
  await Promise.all(watchers.map(({ done }) => done));
  for (const { selector, sessions } of watchers)
    for (const [i, session] of sessions.entries())
      checkSession(history, session, selector as Selector, i === sessions.length - 1);

  const list = (await api.send("GET", mapsPath)).body.items as ApiObject[];
  const expected = list.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort(compare);
  for (const client of clients) {
    const known = () =>
      client.store.list().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    while (!known().includes(`n1@${end}`)) await turn();
    assert.deepEqual(known().sort(compare), expected);
  }
  abort.abort();
  await Promise.all(clients.map(({ done }) => done));
  transport.close();
  api.store.close();
  await recorder;
  const sessions = watchers.flatMap((watcher) => watcher.sessions);
  return {
    received: sessions.reduce((sum, { received }) => sum + received.length, 0),
    expired: sessions.filter(({ expired }) => expired).length,
  };
}

const compare = (a: string, b: string) => (a < b ? -1 : 1);

function kubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  });
}

test("a watcher that starts from a list receives exactly the events after it, over HTTP", {
  timeout: 100_000,
}, async (t) => {
  const histories = Number(process.env.API_HISTORIES ?? 12);
  const sum = { received: 0, expired: 0 };
  for (let seed = 1; seed <= histories; seed++) {
    const ends: (() => Promise<void>)[] = [];
    try {
      const { received = 0, expired = 0 } = await runHistory(seed, (end) => ends.push(end));
      sum.received += received;
      sum.expired += expired;
    } catch (cause) {
      throw new Error(`history ${seed}`, { cause });
    } finally {
      for (const end of ends) await end();
    }
  }
  t.diagnostic(`${sum.received} events received, ${sum.expired} versions expired`);
  assert.ok(sum.received > 0 && sum.expired > 0, "no event was received, or no version expired");
});
