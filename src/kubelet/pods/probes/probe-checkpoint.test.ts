import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type ProbeKind, type ProbeOutcome, ProbeResults } from "../../state/probe-results.ts";
import { ProbeCheckpoint } from "./probe-checkpoint.ts";

const id = (name: string) => name as ContainerId;

async function setUp(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), "probe-checkpoint-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "results.json");
  const agent = async () => {
    const results = new ProbeResults();
    const checkpoint = new ProbeCheckpoint({ path, results, logger: silentLogger });
    await checkpoint.start();
    const set = (kind: ProbeKind, name: string, outcome: ProbeOutcome) =>
      results.set({ uid: "u" as PodUid, kind, id: id(name), outcome });
    return { results, checkpoint, set };
  };
  return { path, agent };
}

test("readiness and startup that passed are known to the next agent; failures and liveness are not", async (t) => {
  const { agent } = await setUp(t);
  const first = await agent();
  first.set("readiness", "a", "success");
  first.set("startup", "a", "success");
  first.set("liveness", "a", "success");
  first.set("readiness", "b", "success");
  first.set("readiness", "b", "failure");
  first.set("startup", "b", "unknown");
  await first.checkpoint.flushed();
  const { checkpoint } = await agent();
  const known = (name: string) =>
    (["startup", "readiness", "liveness"] as const).map((kind) => checkpoint.get(kind, id(name)));
  assert.deepEqual(known("a"), ["success", "success", undefined]);
  assert.deepEqual(known("b"), [undefined, undefined, undefined]);
});

test("results of containers that an agent has not probed yet are kept for the next, unless they are gone", async (t) => {
  const { agent } = await setUp(t);
  const first = await agent();
  for (const name of ["a", "b", "gone"]) first.set("readiness", name, "success");
  await first.checkpoint.flushed();
  const second = await agent();
  second.checkpoint.keepOnly((c) => c !== "gone");
  second.set("readiness", "a", "failure");
  await second.checkpoint.flushed();
  const { checkpoint } = await agent();
  assert.equal(checkpoint.get("readiness", id("a")), undefined);
  assert.equal(checkpoint.get("readiness", id("b")), "success");
  assert.equal(checkpoint.get("readiness", id("gone")), undefined);
});

test("a corrupt file is ignored and replaced", async (t) => {
  const { agent, path } = await setUp(t);
  await writeFile(path, "{ not json");
  const { checkpoint, set } = await agent();
  assert.equal(checkpoint.get("readiness", id("a")), undefined);
  set("readiness", "a", "success");
  await checkpoint.flushed();
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), { a: ["readiness"] });
});

test("a change at any moment of a write is stored", async (t) => {
  const { path, agent } = await setUp(t);
  const missing: number[] = [];
  for (let turns = 0; turns < 10; turns++) {
    const { checkpoint, set } = await agent();
    set("readiness", "a", "success");
    await checkpoint.flushed();
    // Nothing to write: the write ends within a few ticks.
    set("startup", "a", "unknown");
    for (let i = 0; i < turns; i++) await Promise.resolve();
    set("readiness", `b${turns}`, "success");
    await checkpoint.flushed();
    if (!(await readFile(path, "utf8")).includes(`b${turns}`)) missing.push(turns);
  }
  assert.deepEqual(missing, []);
});
