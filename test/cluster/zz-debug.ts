import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { configMap, testApi } from "../../src/apiserver/rest/fixtures.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { type KubeAccess, parseKubeconfig } from "../../src/clients/kube/kubeconfig.ts";
import { ListWatch } from "../../src/clients/kube/list-watch.ts";
import { HttpKubeTransport } from "../../src/clients/kube/transport.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { type FaultPlan, FaultyProxy, faults } from "./faulty-proxy.ts";
import { hastyClock } from "./hasty-clock.ts";
import { startMachineApi } from "./machine-api.ts";

// A client of the embedded API behind a proxy that goes wrong at a chosen byte, on the way there or back: in the TLS handshake,
// in a header, in the middle of a list, between two events or within one. Whatever it is, each change is told once, in order.

type Ask = (method: "POST" | "PUT" | "DELETE", path: string, body?: object) => Promise<unknown>;

/** An API, and how a client of its reaches it over a port that is not its own. */
interface World {
  readonly port: number;
  readonly ask: Ask;
  access(port: number): KubeAccess;
}

interface Run {
  readonly plans: readonly FaultPlan[];
  readonly streamList: boolean;
}

interface Ran {
  readonly told: readonly string[];
  readonly proxy: FaultyProxy;
}

interface Version {
  readonly metadata: { readonly resourceVersion: string };
}

const clock = hastyClock(300);
/** So many clients see the same history at once, each through a proxy of its own. */
const clientsAtOnce = 100;
let namespaces = 0;

/** Keeps a copy of one history through a proxy. */
class Client {
  readonly told: string[] = [];
  readonly #proxy: FaultyProxy;
  readonly #transport: HttpKubeTransport;
  readonly #watch: ListWatch<Version>;
  readonly #stop = new AbortController();
  #heard = () => {};

  constructor(world: World, path: string, proxy: FaultyProxy, streamList: boolean) {
    this.#proxy = proxy;
    this.#transport = new HttpKubeTransport({
      access: world.access(proxy.port),
      ...{ userAgent: "test", qps: 0, burst: 0, clock, logger: silentLogger },
    });
    this.#watch = new ListWatch<Version>({
      ...{ name: "maps", path, transport: this.#transport, clock, logger: silentLogger, streamList },
      labelSelector: "of=test",
      transform: (raw) => raw as unknown as Version,
      onChange: ({ type, key, object }) => {
        this.told.push(change(type, key.split("/")[1]!, object));
        this.#heard();
      },
    });
  }

  async synced(): Promise<void> {
    await this.#watch.start(this.#stop.signal);
    await this.#watch.synced;
  }

  async hears(last: string): Promise<void> {
    while (!this.told.includes(last))
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
  }

  async end(): Promise<void> {
    this.#stop.abort();
    this.#transport.close();
    this.#proxy.close();
    await this.#watch.done;
  }
}

/** With what version an object was deleted, a list would not say. */
const change = (type: string, name: string, { metadata }: Version) =>
  type === "deleted" ? `deleted ${name}` : `${type} ${name}@${metadata.resourceVersion}`;

/** One history, seen by a client for each run. */
async function live(world: World, runs: readonly Run[]): Promise<{ expected: string[]; ran: Ran[] }> {
  const namespace = `n${++namespaces}`;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const kind = { apiVersion: "v1", kind: "Namespace" };
  await world.ask("POST", "/api/v1/namespaces", { ...kind, metadata: { name: namespace } });
  const expected: string[] = [];
  const write = async (method: "POST" | "PUT" | "DELETE", name: string, data = "") => {
    const body = method === "DELETE" ? undefined : configMap(name, { k: data }, { labels: { of: "test" } });
    const answer = await world.ask(method, method === "POST" ? path : `${path}/${name}`, body);
    const what = { POST: "added", PUT: "updated", DELETE: "deleted" }[method];
    expected.push(change(what, name, answer as Version));
  };
  await write("POST", "a", "1");
  await write("POST", "b", "é€😀");
  const proxies = await Promise.all(runs.map(({ plans }) => FaultyProxy.open(world.port, plans)));
  const clients = runs.map(({ streamList }, i) => new Client(world, path, proxies[i]!, streamList));
  try {
    const t1=Date.now(); await Promise.all(clients.map(async (client,i) => {const tm=setTimeout(()=>console.error('NOSYNC',JSON.stringify(runs[i])),8000); await client.synced(); clearTimeout(tm); })); console.error('synced',Date.now()-t1);
    await write("PUT", "a", "2");
    await write("POST", "c", "x".repeat(100));
    await write("DELETE", "b");
    await write("POST", "b", "again");
    await write("PUT", "c", "last");
    const last = expected.at(-1)!;
    const t2=Date.now(); await Promise.all(clients.map(async (client,i) => {const tm=setTimeout(()=>console.error('NOHEAR',JSON.stringify(runs[i]), client.told),8000); await client.hears(last); clearTimeout(tm);}));console.error('heard',Date.now()-t2);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
  return { expected, ran: clients.map(({ told }, i) => ({ told, proxy: proxies[i]! })) };
}

/** The first failure is told with what led to it. */
async function all(world: World, runs: readonly Run[]): Promise<number> {
  let faultsMet = 0;
  for (let from = 0; from < runs.length; from += clientsAtOnce) {
    const some = runs.slice(from, from + clientsAtOnce);
    const t0=Date.now(); const { expected, ran } = await live(world, some); console.error(from, runs.length, Date.now()-t0);
    for (const [i, { told, proxy }] of ran.entries()) {
      assert.deepEqual(told, expected, JSON.stringify(some[i]));
      faultsMet += proxy.done;
    }
  }
  return faultsMet;
}

/** Each byte of an undisturbed run, one fault at each; `every`: only each so many-th of them. */
async function eachByte(world: World, streamList: boolean, every: number): Promise<Run[]> {
  const { ran } = await live(world, [{ plans: [], streamList }]);
  const { passed } = ran[0]!.proxy;
  const runs: Run[] = [];
  for (const direction of ["down", "up"] as const)
    for (let at = 0; at <= passed[direction]; at += every)
      for (const fault of chosen(at / every)) runs.push({ plans: [{ direction, at, fault }], streamList });
  // Of those that run at once none has to wait for others.
  const turnOf = ({ plans }: Run) => faults.indexOf(plans[0]!.fault);
  return runs.sort((a, b) => turnOf(a) - turnOf(b));
}

/** All faults if asked for, else one after the other from byte to byte. */
const every = process.env.CUT_EVERY ? Number(process.env.CUT_EVERY) : undefined;
const allFaults = process.env.CUT_FAULTS === "all";
const chosen = (turn: number) => (allFaults ? faults : [faults[turn % faults.length]!]);

/** Many faults in one run, wherever. */
function many(seed: number, most: number): Run {
  const { below } = seededRandom(seed);
  let at = 0;
  const plans = Array.from({ length: 2 + below(8) }, () => {
    at += below(most / 3);
    return { direction: below(5) ? "down" : "up", at, fault: faults[below(faults.length)]! } as const;
  });
  return { plans, streamList: below(2) === 0 };
}

async function show(t: TestContext, world: World, runs: readonly Run[]): Promise<void> {
  const startedAt = Date.now();
  const met = await all(world, runs);
  t.diagnostic(`${runs.length} runs, ${met} faults, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  assert.ok(met >= runs.length * 0.8, `only ${met} faults in ${runs.length} runs`);
}

test("HTTP/1.1: a connection that goes wrong at any byte: nothing missed, nothing doubled", {
  timeout: 300_000,
}, async (t) => {
  const world = await plainWorld(t);
  await show(t, world, await eachByte(world, false, every ?? 1));
  await show(t, world, await eachByte(world, true, every ?? 7));
  await show(
    t,
    world,
    Array.from({ length: 150 }, (_, seed) => many(seed, 2000)),
  );
});

test("HTTP/2 and TLS: a connection that goes wrong at any byte: nothing missed, nothing doubled", {
  timeout: 300_000,
}, async (t) => {
  const world = await secureWorld(t);
  await show(t, world, await eachByte(world, false, every ?? 17));
  await show(
    t,
    world,
    Array.from({ length: 100 }, (_, seed) => many(seed, 6000)),
  );
});

async function plainWorld(t: TestContext): Promise<World> {
  const api = await testApi(t);
  const ask: Ask = async (method, path, body) => {
    const { status, text, body: answer } = await api.ask(method, path, body);
    assert.ok(status < 300, text);
    return answer;
  };
  return { port: api.server.port, ask, access: (port) => parseKubeconfig(plainKubeconfig(port), "test") };
}

async function secureWorld(t: TestContext): Promise<World> {
  const api = await startMachineApi(t);
  const access = await api.access("kubeconfig");
  return {
    port: api.port,
    ask: (method, path, body) => api.admin.request({ method, path, body }),
    access: (port) => ({
      ...access,
      cluster: { ...access.cluster, server: new URL(`https://127.0.0.1:${port}`) },
    }),
  };
}

function plainKubeconfig(port: number): string {
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  });
}
