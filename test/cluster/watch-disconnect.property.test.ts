import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { configMap, testApi } from "../../src/apiserver/rest/fixtures.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { type KubeAccess, parseKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { Reflector } from "../../src/lib/clients/kube/reflector.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { seededRandom } from "../faults/seeded-random.ts";
import { rounds } from "../long.ts";
import { acceleratedClock } from "./accelerated-clock.ts";
import { type Fault, type FaultPlan, FaultyProxy, faults } from "./faulty-proxy.ts";
import { startMachineApi } from "./machine-api.ts";

// A client of the embedded API behind a proxy that fails at a chosen byte of either direction: in the TLS handshake, in a
// header, in the middle of a list, between two events or within one. In all cases, each change is reported once, in order.

type SendRequest = (method: "POST" | "PUT" | "DELETE", path: string, body?: object) => Promise<unknown>;

/** An API, and the transport of a client through a proxy. */
interface ServedApi {
  readonly port: number;
  readonly sendWrite: SendRequest;
  /** How many clients follow the same history concurrently, each through its own proxy. */
  readonly concurrentClients: number;
  access(port: number): KubeAccess;
}

interface Run {
  readonly plans: readonly FaultPlan[];
  readonly streamList: boolean;
}

/** The clock of the clients: accelerated, with a connection timeout of a third of a second. */
const clock = acceleratedClock(30);

interface RunResult {
  readonly received: readonly string[];
  /** The number of lists. */
  readonly lists: number;
  readonly proxy: FaultyProxy;
}

interface Version {
  readonly metadata: { readonly resourceVersion: string };
}

let namespaces = 0;
/** Longer than any retry of a client. */
const withinMs = 60_000;

/** Keeps a copy of one history through a proxy. */
class Client {
  readonly received: string[] = [];
  lists = 0;
  readonly #proxy: FaultyProxy;
  readonly #transport: HttpKubeTransport;
  readonly #watch: Reflector<Version>;
  readonly #stop = new AbortController();
  #received = () => {};

  constructor(api: ServedApi, path: string, proxy: FaultyProxy, streamList: boolean) {
    this.#proxy = proxy;
    this.#transport = new HttpKubeTransport({
      access: api.access(proxy.port),
      userAgent: "test",
      qps: 0,
      burst: 0,
      clock,
      logger: silentLogger,
    });
    this.#watch = new Reflector<Version>({
      name: "maps",
      path,
      transport: this.#transport,
      clock,
      logger: silentLogger,
      streamList,
      labelSelector: "of=test",
      metrics: { listed: () => this.lists++ },
      transform: (raw) => raw as unknown as Version,
      onChange: ({ type, key, object }) => {
        this.received.push(change(type, key.split("/")[1]!, object));
        this.#received();
      },
    });
  }

  async synced(): Promise<void> {
    await this.#watch.start(this.#stop.signal);
    await this.#watch.synced;
  }

  async receives(last: string): Promise<void> {
    while (!this.received.some((received) => received.endsWith(last)))
      await new Promise<void>((resolve) => {
        this.#received = resolve;
      });
  }

  async end(): Promise<void> {
    this.#stop.abort();
    this.#transport.close();
    this.#proxy.close();
    await this.#watch.done;
  }
}

/** A list does not contain the version with which an object was deleted. */
const change = (type: string, name: string, { metadata }: Version) =>
  type === "deleted" ? `deleted ${name}` : `${type} ${name}@${metadata.resourceVersion}`;

/** Writes one history, which one client per run follows. */
async function runHistory(
  api: ServedApi,
  runs: readonly Run[],
): Promise<{ expected: string[]; results: RunResult[] }> {
  const namespace = `n${++namespaces}`;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const kind = { apiVersion: "v1", kind: "Namespace" };
  await api.sendWrite("POST", "/api/v1/namespaces", { ...kind, metadata: { name: namespace } });
  const expected: string[] = [];
  const write = async (method: "POST" | "PUT" | "DELETE", name: string, data = "") => {
    const body = method === "DELETE" ? undefined : configMap(name, { k: data }, { labels: { of: "test" } });
    const response = await api.sendWrite(method, method === "POST" ? path : `${path}/${name}`, body);
    const what = { POST: "added", PUT: "updated", DELETE: "deleted" }[method];
    expected.push(change(what, name, response as Version));
  };
  await write("POST", "a", "1");
  await write("POST", "b", "é€😀");
  const proxies = await Promise.all(runs.map(({ plans }) => FaultyProxy.open(api.port, plans)));
  const clients = runs.map(({ streamList }, i) => new Client(api, path, proxies[i]!, streamList));
  try {
    await waitForAll(runs, clients, (client) => client.synced());
    await write("PUT", "a", "2");
    await write("POST", "c", "x".repeat(100));
    await write("DELETE", "b");
    await write("POST", "b", "again");
    await write("PUT", "c", "last");
    const last = expected.at(-1)!.replace("updated", "");
    await waitForAll(runs, clients, (client) => client.receives(last));
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
  return {
    expected,
    results: clients.map(({ received, lists }, i) => ({ received, lists, proxy: proxies[i]! })),
  };
}

/** Waits for all clients; throws an error that names one that is not done. */
async function waitForAll(
  runs: readonly Run[],
  clients: readonly Client[],
  work: (client: Client) => Promise<void>,
) {
  const waiting = new Set(clients);
  const late = new AbortController();
  const pending = clients.map((client) => work(client).then(() => waiting.delete(client)));
  const timer = setTimeout(() => late.abort(), withinMs);
  await Promise.race([Promise.all(pending), once(late.signal, "abort")]);
  clearTimeout(timer);
  const [first] = waiting;
  if (!first) return;
  const run = JSON.stringify(runs[clients.indexOf(first)]);
  assert.fail(
    `${waiting.size} of ${clients.length} wait, one with ${run} received ${first.received.join(", ")}`,
  );
}

/** Runs in batches; a failure is reported with its run. */
async function runAll(
  api: ServedApi,
  runs: readonly Run[],
): Promise<{ faultCount: number; listedAgain: number }> {
  let [faultCount, listedAgain] = [0, 0];
  const isSilent = ({ plans }: Run) => plans.some(({ fault }) => fault === "silence");
  const batches = [
    ...inBatches(
      runs.filter((run) => !isSilent(run)),
      api.concurrentClients,
    ),
    // Clients of a silent connection only wait, so more of them can run at the same time.
    ...inBatches(runs.filter(isSilent), api.concurrentClients * 6),
  ];
  for (const some of batches) {
    const { expected, results } = await runHistory(api, some);
    for (const [i, { received, lists, proxy }] of results.entries()) {
      if (lists === 1) assert.deepEqual(received, expected, JSON.stringify(some[i]));
      else checkDifferences(received, expected, JSON.stringify(some[i]));
      faultCount += proxy.faultCount;
      if (lists > 1) listedAgain++;
    }
  }
  return { faultCount, listedAgain };
}

/** After a truncated request was rejected, the client lists again and reports the differences. */
function checkDifferences(received: readonly string[], expected: readonly string[], run: string): void {
  const [known, final] = [new Map<string, string>(), new Map<string, string>()];
  for (const text of expected) apply(final, text);
  for (const text of received) {
    const [type = "", what = ""] = text.split(" ");
    const [name = "", version = ""] = what.split("@");
    const previous = known.get(name);
    assert.equal(type === "added", previous === undefined, `${run}: ${text}, previous version ${previous}`);
    assert.ok(
      type === "deleted" || Number(version) > Number(previous ?? 0),
      `${run}: ${text} after ${previous}`,
    );
    assert.ok(type === "deleted" || expected.some((one) => one.endsWith(` ${what}`)), `${run}: ${text}`);
    apply(known, text);
  }
  assert.deepEqual(sorted(known), sorted(final), run);
}

function apply(state: Map<string, string>, text: string): void {
  const [type = "", what = ""] = text.split(" ");
  const [name = "", version = ""] = what.split("@");
  if (type === "deleted") state.delete(name);
  else state.set(name, version);
}

const sorted = (state: ReadonlyMap<string, string>) => [...state].sort(([a], [b]) => (a < b ? -1 : 1));

function inBatches(runs: readonly Run[], size: number): Run[][] {
  const count = Math.ceil(runs.length / size);
  return Array.from({ length: count }, (_, i) => runs.slice(i * size, (i + 1) * size));
}

/** Runs with one fault each, at each `every`-th byte of a run without faults. */
async function eachByte(api: ServedApi, streamList: boolean, every: number): Promise<Run[]> {
  const { results } = await runHistory(api, [{ plans: [], streamList }]);
  const { forwarded } = results[0]!.proxy;
  const runs: Run[] = [];
  for (const direction of ["down", "up"] as const)
    for (let at = 0; at <= forwarded[direction]; at += every)
      for (const fault of faultsAt(at / every)) runs.push({ plans: [{ direction, at, fault }], streamList });
  return runs;
}

/** All faults if requested; otherwise one kind after the other from byte to byte, and silence, which takes long, at some. */
const allFaults = process.env.CUT_FAULTS === "all";
const visibleFaults = faults.filter((fault) => fault !== "silence");
const faultsAt = (index: number): readonly Fault[] =>
  allFaults
    ? faults
    : [visibleFaults[index % visibleFaults.length]!, ...(index % 12 === 0 ? ["silence" as const] : [])];

/** A run with several faults at random positions. */
function randomFaults(seed: number, maxBytes: number): Run {
  const { below } = seededRandom(seed);
  let at = 0;
  const plans = Array.from({ length: 2 + below(8) }, () => {
    at += below(maxBytes / 3);
    return {
      direction: below(5) ? "down" : "up",
      at,
      fault: (below(20) ? visibleFaults : faults)[below(visibleFaults.length)]!,
    } as const;
  });
  return { plans, streamList: below(2) === 0 };
}

async function check(t: TestContext, api: ServedApi, runs: readonly Run[]): Promise<void> {
  const startedAt = Date.now();
  const { faultCount, listedAgain } = await runAll(api, runs);
  t.diagnostic(
    `${runs.length} runs, ${faultCount} faults, ${((Date.now() - startedAt) / 1000).toFixed(1)} s`,
  );
  t.diagnostic(`${listedAgain} clients listed again`);
  assert.ok(listedAgain < runs.length / 10, `${listedAgain} of ${runs.length} clients listed again`);
  assert.ok(faultCount >= runs.length * 0.8, `only ${faultCount} faults in ${runs.length} runs`);
}

// Every byte where that is cheap; a sample of the bytes otherwise, and with `npm test`.
for (const { count: every, named } of rounds("CUT_EVERY", 11, 1)) {
  const [streamed, secure] = process.env.CUT_EVERY === undefined ? [11 * every, 29 * every] : [every, every];
  test(named(
    `HTTP/1.1: a reflector misses and repeats nothing when its connection fails, at one in ${every} bytes`,
  ), {
    timeout: 300_000,
  }, async (t) => {
    const api = await plainApi(t);
    await check(t, api, [
      ...(await eachByte(api, false, every)),
      ...(await eachByte(api, true, streamed)),
      ...Array.from({ length: 60 }, (_, seed) => randomFaults(seed, 2000)),
    ]);
  });

  test(named(
    `HTTP/2 and TLS: a reflector misses and repeats nothing when its connection fails, at one in ${secure} bytes`,
  ), {
    timeout: 300_000,
  }, async (t) => {
    const api = await secureApi(t);
    await check(t, api, [
      ...(await eachByte(api, false, secure)),
      ...Array.from({ length: 30 }, (_, seed) => randomFaults(seed, 6000)),
    ]);
  });
}

async function plainApi(t: TestContext): Promise<ServedApi> {
  const api = await testApi(t);
  const sendWrite: SendRequest = async (method, path, body) => {
    const { status, text, body: response } = await api.send(method, path, body);
    assert.ok(status < 300, text);
    return response;
  };
  return {
    port: api.server.port,
    sendWrite,
    concurrentClients: 30,
    access: (port) => parseKubeconfig(plainKubeconfig(port), "test"),
  };
}

async function secureApi(t: TestContext): Promise<ServedApi> {
  const api = await startMachineApi(t);
  const access = await api.access("kubeconfig");
  return {
    port: api.port,
    concurrentClients: 8,
    sendWrite: (method, path, body) => api.admin.request({ method, path, body }),
    access: (port) => ({
      ...access,
      cluster: { ...access.cluster, server: new URL(`https://127.0.0.1:${port}`) },
    }),
  };
}

function plainKubeconfig(port: number): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  });
}
