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
function kept(agent: StandaloneAgent): Record<string, string> {
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

type Wanted = Map<string, string>;

function sorted(wanted: Wanted): Record<string, string> {
  return Object.fromEntries([...wanted].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Files, responses, desired pods and running containers all match the last acknowledged state. */
async function settles(agent: StandaloneAgent, wanted: Wanted): Promise<void> {
  assert.deepEqual(sorted(new Map(Object.entries(kept(agent)))), sorted(wanted), "files");
  const list = JSON.parse((await agent.request("GET", "/manifests")).body) as { items: { name: string }[] };
  assert.deepEqual(
    list.items.map(({ name }) => name),
    Object.keys(sorted(wanted)),
    "the list",
  );
  const versionOf = (text: string) => (JSON.parse(text) as { metadata: { labels: { v: string } } }).metadata;
  const expected = Object.entries(sorted(wanted)).map(
    ([name, text]) => `${name} ${versionOf(text).labels.v}`,
  );
  await waitFor(async () => {
    const lines = agent.running().map(({ pod, version }) => `${pod} ${version}`);
    assert.deepEqual(lines.sort(byText), expected.sort(byText), "what runs");
    const rows = (await agent.pods()).map(({ name, phase }) => `${name} ${phase}`);
    const names = [...wanted.keys()].map((name) => `${name}-node-a Running`);
    assert.deepEqual(rows.sort(byText), names.sort(byText), "what the agent shows");
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
  const wanted: Wanted = new Map();
  let version = 0;
  let acknowledged = 0;
  for (let round = 0; round < count; round++) {
    agent.start();
    await agent.ready();
    /** The change in progress when the agent was killed: it may have been applied or not. */
    const open = new Map<string, string | undefined>();
    const last = acknowledged + 1 + random.below(80);
    const killed = Promise.withResolvers<void>();
    const lane = async (name: string) => {
      for (;;) {
        const text = random.below(3) === 0 ? undefined : podOf(name, ++version);
        open.set(name, text);
        try {
          const { status } = await (text === undefined
            ? agent.request("DELETE", `/manifests/${name}`)
            : agent.request("PUT", `/manifests/${name}`, text));
          assert.ok(status === 200 || status === 201 || (text === undefined && status === 404), `${status}`);
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          return;
        }
        open.delete(name);
        if (text === undefined) wanted.delete(name);
        else wanted.set(name, text);
        if (++acknowledged >= last) killed.resolve();
      }
    };
    const lanes = names.map(lane);
    await killed.promise;
    await agent.end("SIGKILL");
    await Promise.all(lanes);
    const found = kept(agent);
    for (const name of names) {
      if (found[name] === wanted.get(name)) continue;
      assert.ok(open.has(name), `round ${round}: ${name} is not what was acknowledged`);
      assert.equal(
        found[name],
        open.get(name),
        `round ${round}: ${name} is neither as before nor as requested`,
      );
      const text = open.get(name);
      if (text === undefined) wanted.delete(name);
      else wanted.set(name, text);
    }
  }
  agent.start();
  await agent.ready();
  await settles(agent, wanted);
  t.diagnostic(`${acknowledged} changes were acknowledged`);

  // Another kill does not affect running containers.
  const before = agent.running().map(({ container }) => container);
  await agent.end("SIGKILL");
  agent.start();
  await agent.ready();
  await settles(agent, wanted);
  assert.deepEqual(new Set(agent.running().map(({ container }) => container)), new Set(before));
}

for (const { count, named } of rounds("APPLY_CHANGES", 300, 1000)) {
  const title = "random concurrent changes end in what was acknowledged last; invalid ones change nothing";
  test(named(`${count} puts and deletes ${title}`), (t) => endsInTheLast(t, count));
}

async function endsInTheLast(t: TestContext, changes: number): Promise<void> {
  const agent = await started(t);
  const random = seededRandom(seed + 1);
  agent.start();
  await agent.ready();
  const wanted: Wanted = new Map();
  const lanes = new Map<string, Promise<void>>();
  const counts = { put: 0, deleted: 0, absent: 0, rejected: 0 };
  const change = async (name: string, what: number, version: number) => {
    if (what === 0) {
      const { status } = await agent.request("DELETE", `/manifests/${name}`);
      assert.equal(status, wanted.has(name) ? 200 : 404, "a delete");
      counts[wanted.delete(name) ? "deleted" : "absent"]++;
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
    assert.equal(status, wanted.has(name) ? 200 : 201, body);
    wanted.set(name, text);
    counts.put++;
  };
  for (let version = 1; version <= changes; version++) {
    const name = `m${random.below(40)}`;
    const kind = random.below(10);
    const what = kind < 3 ? 0 : kind < 4 ? 1 : 2;
    const queued = (lanes.get(name) ?? Promise.resolve()).then(() => change(name, what, version));
    lanes.set(name, queued);
    if (version % 32 === 0) await Promise.race(lanes.values());
  }
  await Promise.all(lanes.values());
  t.diagnostic(JSON.stringify(counts));
  assert.ok(Object.values(counts).every((count) => count > 0));
  await settles(agent, wanted);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
