import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../src/lib/base/fake-clock.ts";
import { ClusterAgent } from "../bench/cluster-agent.ts";
import { built, launcherFile } from "../e2e/built.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { removeDir } from "../node/remove-dir.ts";
import { allocatedKiBPerPod, budgets, least, overBudget } from "./budgets.ts";
import { TestCluster } from "./cluster-node.ts";
import { SimulatedTime } from "./simulated-time.ts";
import { type Counts, WorkCounter } from "./work-counter.ts";

const lives = 6;
const idlePods = 3;
const idleMinutes = 2;
const podsAtATime = 10;

/** Periodic work of the node, which falls into the life of some pods. */
const ofNode =
  /^(Status|ImageFsInfo|ListImages|ListPodSandboxStats|ListContainerStats|Version|\w+ (leases|nodes|nodes\/status|csinodes)|event (volumes-reported|node-changed|csi-node-ready|source-synced|runtime-synced))$/;

interface CountedNode {
  readonly cluster: TestCluster;
  readonly time: SimulatedTime;
  readonly counter: WorkCounter;
}

async function startNode(t: TestContext, timers: "short" | "all"): Promise<CountedNode> {
  const clock = new FakeClock(Date.now());
  const counter = new WorkCounter(t, clock, timers);
  const cluster = await TestCluster.start(t, {}, {}, { clock });
  const time = new SimulatedTime(clock, cluster);
  cluster.endFirst(() => time.during(cluster.stopAgent()));
  const config = Object.assign(cluster.config(), { clusterDNS: ["10.0.0.10"] });
  await time.during(cluster.startAgent({ config, clock: counter.clock }));
  return { cluster, time, counter };
}

function check(t: TestContext, name: keyof typeof budgets, counts: readonly Counts[]): void {
  const found = least(counts);
  t.diagnostic(`${name}: ${JSON.stringify(found)}`);
  assert.deepEqual(overBudget(found, budgets[name]), [], name);
}

function isReady({ api }: TestCluster, name: string): void {
  const conditions = api.pod(name)?.status?.conditions;
  assert.equal(conditions?.find(({ type }) => type === "Ready")?.status, "True");
}

test("the life of a pod needs no more requests, calls, events, status computations and timers than its budget", async (t) => {
  const { cluster, time, counter } = await startNode(t, "short");
  const counts = { podStart: [] as Counts[], podEnd: [] as Counts[] };
  await time.advance(5000);
  for (let i = 0; i < lives; i++) {
    const name = `pod-${i}`;
    const ofPod = (all: Counts) =>
      Object.fromEntries(Object.entries(all).filter(([what]) => !ofNode.test(what)));
    const started = counter.start(cluster);
    const { metadata } = cluster.addPod(name);
    await time.until(() => isReady(cluster, name));
    // Events and statuses may be delayed.
    await time.advance(2000);
    assert.equal(cluster.events(name, "Started").length, 1);
    counts.podStart.push(ofPod(started()));
    const ended = counter.start(cluster);
    cluster.api.deletePod(name);
    await time.until(() => assert.equal(cluster.api.pod(name), undefined));
    await time.until(() => assert.equal(cluster.agent.overview.rows().length, 0));
    await time.advance(2000);
    assert.equal(cluster.containersOf(metadata.uid).length, 0);
    counts.podEnd.push(ofPod(ended()));
  }
  check(t, "podStart", counts.podStart);
  check(t, "podEnd", counts.podEnd);
});

test("a node with running pods that is idle does no more in a minute than its budget", async (t) => {
  const { cluster, time, counter } = await startNode(t, "all");
  const names = Array.from({ length: idlePods }, (_, i) => `idle-${i}`);
  for (const name of names) cluster.addPod(name);
  for (const name of names) await time.until(() => isReady(cluster, name));
  await time.advance(60_000, 500);
  const minutes: Counts[] = [];
  for (let i = 0; i < idleMinutes; i++) {
    const counted = counter.start(cluster);
    await time.advance(60_000, 500);
    minutes.push(counted());
  }
  check(t, "idleMinute", minutes);
});

test("the life of a pod allocates no more memory than its budget", {
  skip: built !== true && built,
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "allocations-"));
  t.after(() => removeDir(dir));
  const file = join(dir, "bytes");
  const probe = new URL("./allocation-probe.mjs", import.meta.url).href;
  const env = { ...process.env, NODE_OPTIONS: `--import=${probe}`, ALLOCATION_FILE: file };
  const agent = await ClusterAgent.start(launcherFile, env);
  t.after(() => agent.stop());
  const allocated = async () => {
    await rm(file, { force: true });
    process.kill(agent.pid, "SIGUSR2");
    return Number(await waitFor(() => readFile(file, "utf8")));
  };
  const life = async () => {
    const before = await allocated();
    await agent.run("pod", podsAtATime);
    await agent.remove("pod", podsAtATime);
    return ((await allocated()) - before) / 1024 / podsAtATime;
  };
  // The first pods also load code.
  await life();
  const found = [await life()];
  // Other work of the agent may fall into it once.
  if (found[0]! > allocatedKiBPerPod) found.push(await life());
  const shown = found.map((kib) => `${kib.toFixed(0)} KiB`).join(", ");
  t.diagnostic(shown);
  assert.ok(Math.min(...found) <= allocatedKiBPerPod, `${shown}, budget ${allocatedKiBPerPod} KiB`);
});

for (const [name, budget] of Object.entries(budgets))
  test(`one more of anything exceeds the budget ${name}`, () => {
    assert.deepEqual(overBudget(budget, budget), []);
    for (const [what, count] of Object.entries({ ...budget, "GET surprises": 0 }))
      assert.equal(overBudget({ ...budget, [what]: count + 1 }, budget).length, 1, what);
  });

test("the smallest count of each kind is compared, and a kind that is absent once counts as none", () => {
  assert.deepEqual(least([{ a: 2, b: 1 }, { a: 3 }]), { a: 2, b: 0 });
});

test("docs/BUDGETS.md has the sums of the budgets", async () => {
  const text = await readFile(new URL("../../docs/BUDGETS.md", import.meta.url), "utf8");
  const kinds: Record<string, RegExp> = {
    "requests to the API server": /^[A-Z]+ /,
    "runtime calls": /^[A-Z][A-Za-z]+$/,
    "sync loop events": /^event /,
    "status computations": /^status computations$/,
    "timers fired": /^timers fired$/,
  };
  for (const [row, kind] of Object.entries(kinds)) {
    const sums = Object.values(budgets).map((budget: Counts) =>
      Object.entries(budget)
        .filter(([what]) => kind.test(what))
        .reduce((sum, [, count]) => sum + count, 0),
    );
    assert.ok(text.includes(`| ${row} | ${sums.join(" | ")} |`), `${row}: ${sums.join(", ")}`);
  }
  assert.ok(text.includes(`${allocatedKiBPerPod.toLocaleString("en")} KiB`));
});
