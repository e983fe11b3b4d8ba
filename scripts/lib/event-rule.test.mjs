import assert from "node:assert/strict";
import { test } from "node:test";
import { checkEvents, unusedExceptions } from "./event-rule.mjs";

const agent = "src/kubelet/agent/pod-parts.ts";
const component = "src/kubelet/pipeline/pleg/pleg.ts";
const found = (text, file = agent, allowed = []) =>
  checkEvents(file, text, allowed).map(({ line, name }) => `${line} ${name}`);

test("a callback may post an event", () => {
  assert.deepEqual(found("new A({ onChange: (uid) => post({ kind: 'x', uid }) });"), []);
  assert.deepEqual(
    found("new A({\n  onChange: ({ uid, what }) =>\n    core.post({ kind: 'x', uid }),\n});"),
    [],
  );
  assert.deepEqual(found("connection.onChange(({ kind }) => post({ kind: 'x', state: kind }));"), []);
  assert.deepEqual(found("transport.onReconnect?.(() => post({ kind: 'x' }));"), []);
});

test("a callback that calls another component is rejected, however it is written", () => {
  assert.deepEqual(found("new A({\n  onChange: (uid) => workers.wake(uid),\n});"), ["2 onChange"]);
  assert.deepEqual(found("new A({ onChange: (uid) => { probes.observed(uid); post({ kind: 'x' }); } });"), [
    "1 onChange",
  ]);
  assert.deepEqual(found("new A({ onChange: (uid) => post({ kind: 'x' }) ?? workers.wake(uid) });"), [
    "1 onChange",
  ]);
  assert.deepEqual(found("new A({ onChange(uid) { workers.wake(uid); } });"), ["1 onChange"]);
  assert.deepEqual(found("new A({ onChange: workers.wake });"), ["1 onChange"]);
  assert.deepEqual(found("connection.onChange(() => pleg.relistSoon());"), ["1 onChange"]);
  assert.deepEqual(found("connection.onChange(relist);"), ["1 onChange"]);
});

test("a component that subscribes to another is rejected", () => {
  assert.deepEqual(found("this.#o.volumes.onChange((uid) => this.wake(uid));", component), ["1 onChange"]);
  assert.deepEqual(found("a();\nconst stop = parts.probes.onResult(listener);", component), ["2 onResult"]);
});

test("types and calls of callbacks are ignored", () => {
  assert.deepEqual(found("interface A {\n  onChange: (uid: PodUid) => void;\n  onGone?: () => void;\n}"), []);
  assert.deepEqual(found("function f(o: { a: string; onChange: () => void }) {}"), []);
  assert.deepEqual(found("class A {\n  onChange(listener: () => void): () => void { return 1; }\n}"), []);
  assert.deepEqual(found("this.#o.onChange(uid);\nthis.#o.onGone?.(uid, worker);", component), []);
  assert.deepEqual(
    found("// onChange: (uid) => workers.wake(uid)\n/* connection.onChange(() => a()) */"),
    [],
  );
});

test("an exception is for one callback of one file, and is reported when it is not needed", () => {
  const allowed = [{ file: "agent/pod-parts.ts", name: "onLag", why: "a metric" }];
  const text = "new A({ onLag: (ms) => metrics.lag(ms) });";
  assert.deepEqual(found(text, agent, allowed), []);
  assert.deepEqual(found(text, "src/kubelet/agent/other.ts", allowed), ["1 onLag"]);
  assert.deepEqual(unusedExceptions([{ file: agent, text }], allowed), []);
  assert.deepEqual(unusedExceptions([{ file: agent, text: "" }], allowed), allowed);
});
