import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type ProbeKind, type ProbeOutcome, ProbeResults } from "../../state/probe-results.ts";
import { ProbeMemory } from "./probe-memory.ts";

const id = (name: string) => name as ContainerId;

async function setUp(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), "probe-memory-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "results.json");
  const agent = async () => {
    const results = new ProbeResults();
    const memory = new ProbeMemory({ path, results, logger: silentLogger });
    await memory.start();
    const set = (kind: ProbeKind, name: string, outcome: ProbeOutcome) =>
      results.set({ uid: "u" as PodUid, kind, id: id(name), outcome });
    return { results, memory, set };
  };
  return { path, agent };
}

test("what was ready and started is known to the next agent; what was not, and liveness, is not", async (t) => {
  const { agent } = await setUp(t);
  const first = await agent();
  first.set("readiness", "a", "success");
  first.set("startup", "a", "success");
  first.set("liveness", "a", "success");
  first.set("readiness", "b", "success");
  first.set("readiness", "b", "failure");
  first.set("startup", "b", "unknown");
  await first.memory.flushed();
  const { memory } = await agent();
  const known = (name: string) =>
    (["startup", "readiness", "liveness"] as const).map((kind) => memory.known(kind, id(name)));
  assert.deepEqual(known("a"), ["success", "success", undefined]);
  assert.deepEqual(known("b"), [undefined, undefined, undefined]);
});

test("what an agent has not asked about yet is kept for the one after it, unless it is gone", async (t) => {
  const { agent } = await setUp(t);
  const first = await agent();
  for (const name of ["a", "b", "gone"]) first.set("readiness", name, "success");
  await first.memory.flushed();
  const second = await agent();
  second.memory.keepOnly((c) => c !== "gone");
  second.set("readiness", "a", "failure");
  await second.memory.flushed();
  const { memory } = await agent();
  assert.equal(memory.known("readiness", id("a")), undefined);
  assert.equal(memory.known("readiness", id("b")), "success");
  assert.equal(memory.known("readiness", id("gone")), undefined);
});

test("a file that is damaged is as good as none, and is replaced", async (t) => {
  const { agent, path } = await setUp(t);
  await writeFile(path, "{ not json");
  const { memory, set } = await agent();
  assert.equal(memory.known("readiness", id("a")), undefined);
  set("readiness", "a", "success");
  await memory.flushed();
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), { a: ["readiness"] });
});

test("what becomes known at whatever moment of a write is in the file", async (t) => {
  const { path, agent } = await setUp(t);
  const missing: number[] = [];
  for (let turns = 0; turns < 10; turns++) {
    const { memory, set } = await agent();
    set("readiness", "a", "success");
    await memory.flushed();
    // Nothing to write: the write is over within a few turns.
    set("startup", "a", "unknown");
    for (let i = 0; i < turns; i++) await Promise.resolve();
    set("readiness", `b${turns}`, "success");
    await memory.flushed();
    if (!(await readFile(path, "utf8")).includes(`b${turns}`)) missing.push(turns);
  }
  assert.deepEqual(missing, []);
});
