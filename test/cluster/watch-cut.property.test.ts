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
  readonly expected: readonly string[];
  readonly passed: { readonly down: number; readonly up: number };
  readonly faults: number;
}

const clock = hastyClock(200);
const atOnce = 24;
let namespaces = 0;

async function run(world: World, { plans, streamList }: Run): Promise<Ran> {
  const namespace = `n${++namespaces}`;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const kind = { apiVersion: "v1", kind: "Namespace" };
  await world.ask("POST", "/api/v1/namespaces", { ...kind, metadata: { name: namespace } });
  const versions: string[] = [];
  const write = async (method: "POST" | "PUT" | "DELETE", name: string, data = "") => {
    const body = method === "DELETE" ? undefined : configMap(name, { k: data });
    const answer = await world.ask(method, method === "POST" ? path : `${path}/${name}`, body);
    const { metadata } = answer as { metadata?: { resourceVersion?: string } };
    const what = { POST: "added", PUT: "updated", DELETE: "deleted" }[method];
    versions.push(method === "DELETE" ? `deleted ${name}` : `${what} ${name}@${metadata?.resourceVersion}`);
  };
  await write("POST", "a", "1");
  await write("POST", "b", "é€😀");
  const proxy = await FaultyProxy.open(world.port, plans);
  const transport = new HttpKubeTransport({
    access: world.access(proxy.port),
    ...{ userAgent: "test", qps: 0, burst: 0, clock, logger: silentLogger },
  });
  const told: string[] = [];
  let heard = () => {};
  const watch = new ListWatch<{ metadata: { resourceVersion: string } }>({
    ...{ name: "maps", path, transport, clock, logger: silentLogger, streamList },
    transform: (raw) => raw as never,
    onChange: ({ type, key, object }) => {
      const name = key.split("/")[1];
      // With what version an object was deleted, a list does not say.
      told.push(
        type === "deleted" ? `deleted ${name}` : `${type} ${name}@${object.metadata.resourceVersion}`,
      );
      heard();
    },
  });
  const stop = new AbortController();
  await watch.start(stop.signal);
  try {
    await watch.synced;
    await write("PUT", "a", "2");
    await write("POST", "c", "x".repeat(100));
    await write("DELETE", "b");
    await write("POST", "b", "again");
    await write("PUT", "c", "last");
    const last = versions.at(-1)!;
    while (!told.includes(last))
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
  } finally {
    stop.abort();
    transport.close();
    proxy.close();
    await watch.done;
  }
  return { told, expected: versions, passed: proxy.passed, faults: proxy.done };
}

/** Some runs side by side; the first failure is told with what led to it. */
async function all(world: World, runs: readonly Run[]): Promise<{ faults: number }> {
  let [next, sum] = [0, 0];
  const worker = async () => {
    for (let at = next++; at < runs.length; at = next++) {
      const one = runs[at]!;
      const ran = await run(world, one);
      assert.deepEqual(ran.told, ran.expected, JSON.stringify(one));
      sum += ran.faults;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { faults: sum };
}

/** Each byte of an undisturbed run, one fault at each; `every`: only each so many-th of them. */
async function eachByte(world: World, streamList: boolean, every: number): Promise<Run[]> {
  const { passed } = await run(world, { plans: [], streamList });
  const runs: Run[] = [];
  for (const direction of ["down", "up"] as const)
    for (let at = 0; at <= passed[direction]; at += every)
      for (const fault of chosen(at / every)) runs.push({ plans: [{ direction, at, fault }], streamList });
  return runs;
}

/** All faults if asked for, else one after the other from byte to byte. */
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
  const { faults: met } = await all(world, runs);
  t.diagnostic(`${runs.length} runs, ${met} faults, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  assert.ok(met >= runs.length * 0.8, `only ${met} faults in ${runs.length} runs`);
}

test("HTTP/1.1: a connection that goes wrong at any byte: nothing missed, nothing doubled", {
  timeout: 300_000,
}, async (t) => {
  const world = await plainWorld(t);
  for (const streamList of [false, true]) await show(t, world, await eachByte(world, streamList, 1));
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
  const every = Number(process.env.CUT_EVERY ?? 11);
  await show(t, world, await eachByte(world, false, every));
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
