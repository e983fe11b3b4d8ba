import assert from "node:assert/strict";
import { test } from "node:test";
import { abortError } from "../errors.ts";
import { ratioSampler } from "./sampler.ts";
import { type FinishedSpan, RecordingTracer, type Span } from "./tracer.ts";

function setUp(perMillion = 1_000_000) {
  const spans: FinishedSpan[] = [];
  let now = 0;
  const tracer = new RecordingTracer({
    sampler: ratioSampler(perMillion),
    onEnd: (span) => spans.push(span),
    now: () => ++now,
  });
  return { tracer, spans, byName: (name: string) => spans.find((span) => span.name === name)! };
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const remote = { traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: true };

test("spans started within a span are its children, across awaits and in parallel", async () => {
  const { tracer, byName } = setUp();
  const one = (name: string) =>
    tracer.run(name, {}, async () => {
      await turn();
      await tracer.run(`${name} child`, { kind: "client" }, turn);
    });
  await Promise.all([one("a"), one("b")]);
  for (const name of ["a", "b"]) {
    const [parent, child] = [byName(name), byName(`${name} child`)];
    assert.equal(parent.parentId, undefined);
    assert.deepEqual([child.parentId, child.traceId, child.kind], [parent.spanId, parent.traceId, "client"]);
    assert.ok(parent.startedAt < child.startedAt && child.endedAt < parent.endedAt);
  }
  assert.notEqual(byName("a").traceId, byName("b").traceId);
  assert.match(byName("a").traceId, /^[0-9a-f]{32}$/);
  assert.match(byName("a").spanId, /^[0-9a-f]{16}$/);
});

test("an ended span is never used as a parent: loops started in it outlive it", async () => {
  const { tracer, byName } = setUp();
  let later: Promise<void> | undefined;
  await tracer.run("pass", {}, async () => {
    later = turn()
      .then(turn)
      .then(() => tracer.run("later", {}, turn));
  });
  await later;
  assert.equal(byName("later").parentId, undefined);
  assert.notEqual(byName("later").traceId, byName("pass").traceId);
});

test("a root starts its own trace, and may link to others", async () => {
  const { tracer, byName } = setUp();
  await tracer.run("outer", {}, () => tracer.run("root", { isRoot: true, links: [remote] }, turn));
  assert.equal(byName("root").parentId, undefined);
  assert.notEqual(byName("root").traceId, byName("outer").traceId);
  assert.deepEqual(byName("root").links, [remote]);
});

test("the caller in another process is the parent, before local work", async () => {
  const { tracer, byName } = setUp();
  await tracer.run("outer", {}, () => tracer.run("remote", { parent: remote }, turn));
  assert.deepEqual([byName("remote").traceId, byName("remote").parentId], [remote.traceId, remote.spanId]);
});

test("a thrown error is the error of the span, and is rethrown; an abort is not an error", async () => {
  const { tracer, byName } = setUp();
  const fails = (name: string, error: Error) =>
    assert.rejects(
      tracer.run(name, {}, async () => {
        throw error;
      }),
      error,
    );
  await fails("broken", new Error("no network"));
  await fails("aborted", abortError("not wanted"));
  assert.deepEqual([byName("broken").error, byName("aborted").error], ["no network", undefined]);
});

test("attributes may be added while a span runs; the first failure is kept", async () => {
  const { tracer, byName } = setUp();
  await tracer.run("a", { attributes: { x: 1, y: "old" } }, async (span) => {
    span.set("y", "new");
    span.fail("first");
    span.fail("second");
  });
  assert.deepEqual(byName("a").attributes, { x: 1, y: "new" });
  assert.equal(byName("a").error, "first");
});

test("an unsampled span is not kept, nor are its children; the caller's sampling decision is followed", async () => {
  const { tracer, spans } = setUp(0);
  const seen: Span[] = [];
  await tracer.run("a", {}, async (outer) => {
    seen.push(outer);
    await tracer.run("b", {}, async (inner) => void seen.push(inner));
  });
  assert.deepEqual(spans, []);
  assert.deepEqual([seen[0]?.sampled, seen[1]?.sampled], [false, false]);
  assert.equal(seen[0]?.traceId, seen[1]?.traceId, "it is still one trace for the receiver");
  await tracer.run("c", { parent: remote }, turn);
  assert.equal(spans.length, 1);
});

test("a trace that the caller did not sample is not kept at any rate", async () => {
  const { tracer, spans } = setUp();
  await tracer.run("c", { parent: { ...remote, sampled: false } }, turn);
  assert.deepEqual(spans, []);
});
