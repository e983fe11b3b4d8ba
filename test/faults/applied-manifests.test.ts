import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { rounds } from "../long.ts";
import { seededRandom } from "./seeded-random.ts";
import { StandaloneAgent } from "./standalone-agent.ts";

const seed = Number(process.env.APPLY_SEED ?? 20261115);

function podOf(name: string, version: number): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { v: String(version) } },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "c", image: fakeImages.busybox, imagePullPolicy: "Never" }],
    },
  });
}

async function started(t: TestContext): Promise<StandaloneAgent> {
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  return agent;
}

/** The files that the agent keeps, by name. */
function storedFiles(agent: StandaloneAgent): Record<string, string> {
  const dir = join(agent.rootDir, "applied");
  const names = (() => {
    try {
      return readdirSync(dir).filter((name) => !name.startsWith("."));
    } catch {
      return [];
    }
  })();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), "utf8")]));
}

type Manifests = Map<string, string>;

function sorted(desired: Manifests): Record<string, string> {
  return Object.fromEntries([...desired].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Files, responses, desired pods and running containers all match the last acknowledged state. */
async function assertConverged(agent: StandaloneAgent, desired: Manifests): Promise<void> {
  assert.deepEqual(sorted(new Map(Object.entries(storedFiles(agent)))), sorted(desired), "files");
  const list = JSON.parse((await agent.request("GET", "/manifests")).body) as { items: { name: string }[] };
  assert.deepEqual(
    list.items.map(({ name }) => name),
    Object.keys(sorted(desired)),
    "the list",
  );
  const versionOf = (text: string) => (JSON.parse(text) as { metadata: { labels: { v: string } } }).metadata;
  const expected = Object.entries(sorted(desired)).map(
    ([name, text]) => `${name} ${versionOf(text).labels.v}`,
  );
  await waitFor(async () => {
    const lines = agent.running().map(({ pod, version }) => `${pod} ${version}`);
    assert.deepEqual(lines.sort(byText), expected.sort(byText), "running containers");
    const rows = (await agent.pods()).map(({ name, phase }) => `${name} ${phase}`);
    const names = [...desired.keys()].map((name) => `${name}-node-a Running`);
    assert.deepEqual(rows.sort(byText), names.sort(byText), "pods of the agent");
  }, 120_000);
}

for (const { count, named } of rounds("APPLY_KILL_ROUNDS", 2, 6)) {
  const title = "manifests applied over HTTP survive kill -9 at any moment after the response";
  test(named(`${title}, ${count} rounds with seed ${seed}`), (t) => survivesKills(t, count));
}

async function survivesKills(t: TestContext, count: number): Promise<void> {
  const agent = await started(t);
  const random = seededRandom(seed);
  const names = Array.from({ length: 12 }, (_, i) => `m${i}`);
  const desired: Manifests = new Map();
  let version = 0;
  let acknowledged = 0;
  for (let round = 0; round < count; round++) {
    agent.start();
    await agent.ready();
    /** The change in progress when the agent was killed: it may have been applied or not. */
    const pending = new Map<string, string | undefined>();
    const last = acknowledged + 1 + random.below(80);
    const killed = Promise.withResolvers<void>();
    const write = async (name: string) => {
      for (;;) {
        const text = random.below(3) === 0 ? undefined : podOf(name, ++version);
        pending.set(name, text);
        try {
          const { status } = await (text === undefined
            ? agent.request("DELETE", `/manifests/${name}`)
            : agent.request("PUT", `/manifests/${name}`, text));
          assert.ok(status === 200 || status === 201 || (text === undefined && status === 404), `${status}`);
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          return;
        }
        pending.delete(name);
        if (text === undefined) desired.delete(name);
        else desired.set(name, text);
        if (++acknowledged >= last) killed.resolve();
      }
    };
    const writers = names.map(write);
    await killed.promise;
    await agent.end("SIGKILL");
    await Promise.all(writers);
    const found = storedFiles(agent);
    for (const name of names) {
      if (found[name] === desired.get(name)) continue;
      assert.ok(pending.has(name), `round ${round}: ${name} is not in its acknowledged state`);
      assert.equal(
        found[name],
        pending.get(name),
        `round ${round}: ${name} is neither in its previous nor in the requested state`,
      );
      const text = pending.get(name);
      if (text === undefined) desired.delete(name);
      else desired.set(name, text);
    }
  }
  agent.start();
  await agent.ready();
  await assertConverged(agent, desired);
  t.diagnostic(`${acknowledged} changes were acknowledged`);

  // Another kill does not affect running containers.
  const before = agent.running().map(({ container }) => container);
  await agent.end("SIGKILL");
  agent.start();
  await agent.ready();
  await assertConverged(agent, desired);
  assert.deepEqual(new Set(agent.running().map(({ container }) => container)), new Set(before));
}

for (const { count, named } of rounds("APPLY_CHANGES", 300, 1000)) {
  const title =
    "concurrent puts and deletes converge to the last acknowledged state, and invalid ones change nothing";
  test(named(`${count} ${title}`), (t) => convergesToLast(t, count));
}

async function convergesToLast(t: TestContext, changes: number): Promise<void> {
  const agent = await started(t);
  const random = seededRandom(seed + 1);
  agent.start();
  await agent.ready();
  const desired: Manifests = new Map();
  const writers = new Map<string, Promise<void>>();
  const counts = { put: 0, deleted: 0, absent: 0, rejected: 0 };
  const change = async (name: string, what: number, version: number) => {
    if (what === 0) {
      const { status } = await agent.request("DELETE", `/manifests/${name}`);
      assert.equal(status, desired.has(name) ? 200 : 404, "status of a delete");
      counts[desired.delete(name) ? "deleted" : "absent"]++;
      return;
    }
    if (what === 1) {
      const bad = podOf(name, version).replace('"image"', '"picture"');
      const { status, body } = await agent.request("PUT", `/manifests/${name}`, bad);
      assert.equal(status, 422, body);
      assert.match(body, /spec\.containers\[0\]\.image/);
      counts.rejected++;
      return;
    }
    const text = podOf(name, version);
    const { status, body } = await agent.request("PUT", `/manifests/${name}`, text);
    assert.equal(status, desired.has(name) ? 200 : 201, body);
    desired.set(name, text);
    counts.put++;
  };
  for (let version = 1; version <= changes; version++) {
    const name = `m${random.below(40)}`;
    const kind = random.below(10);
    const what = kind < 3 ? 0 : kind < 4 ? 1 : 2;
    const queued = (writers.get(name) ?? Promise.resolve()).then(() => change(name, what, version));
    writers.set(name, queued);
    if (version % 32 === 0) await Promise.race(writers.values());
  }
  await Promise.all(writers.values());
  t.diagnostic(JSON.stringify(counts));
  assert.ok(Object.values(counts).every((count) => count > 0));
  await assertConverged(agent, desired);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
