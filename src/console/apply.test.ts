import assert from "node:assert/strict";
import { test } from "node:test";
import { Composer } from "yaml";
import type { ManifestPutResult } from "../kubelet/server/manifests/applied-manifest.ts";
import { fakePod } from "../lib/model/fake-pod.ts";
import { applyManifests } from "./apply.ts";
import type { ConsoleManifests } from "./console-node.ts";
import { ConsoleProblem } from "./http/problem.ts";
import type { ManifestProblem } from "./protocol.ts";

const pod = (name: string) => `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {}\n`;

/** Stores manifests. A check has the result in `results` by name, or "created". */
function fakeManifests(results: Record<string, ManifestPutResult> = {}) {
  const stored: string[] = [];
  const resultOf = (name: string): ManifestPutResult =>
    results[name] ?? { kind: "created", pods: [fakePod({ metadata: { name } })], warnings: [] };
  const manifests: ConsoleManifests = {
    list: () => [{ name: "taken", pods: [fakePod({ metadata: { name: "other" } })] }],
    check: async (name) => resultOf(name),
    put: async (name) => {
      stored.push(name);
      return resultOf(name);
    },
    remove: async () => true,
  };
  return { manifests, stored };
}

async function problemsOf(text: string, results?: Record<string, ManifestPutResult>) {
  const { manifests, stored } = fakeManifests(results);
  const error = await applyManifests(manifests, text, false).then(
    () => assert.fail("applied"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ConsoleProblem, String(error));
  assert.deepEqual(stored, []);
  return error.body.error.problems ?? [];
}

test("all pods of a text are applied, or none", async () => {
  const { manifests, stored } = fakeManifests();
  const { results } = await applyManifests(manifests, `${pod("a")}---\n${pod("b")}`, false);
  assert.deepEqual(
    results.map(({ name, result }) => [name, result]),
    [
      ["a", "created"],
      ["b", "created"],
    ],
  );
  assert.deepEqual(stored, ["a", "b"]);
  const checked = await applyManifests(manifests, pod("c"), true);
  assert.deepEqual([checked.results[0]?.result, checked.results[0]?.uid, stored.length], ["valid", "", 2]);
});

test("positions are those in the whole text", async () => {
  const problem = { line: 4, column: 7, field: "spec.containers", message: "Required value" };
  const invalid: ManifestPutResult = { kind: "invalid", problems: [problem] };
  assert.deepEqual(await problemsOf(`${pod("a")}---\n${pod("bad")}`, { bad: invalid }), [
    { ...problem, line: 8 },
  ] satisfies ManifestProblem[]);
  // The text of an item of a list is generated: its positions mean nothing.
  const list = `kind: PodList\nitems:\n- metadata: {name: bad}\n`;
  assert.deepEqual(await problemsOf(list, { bad: invalid }), [
    { line: null, column: null, field: "items[0].spec.containers", message: "Required value" },
  ]);
});

test("texts without a valid pod are rejected with the reason", async () => {
  const [syntax] = await problemsOf("kind: Pod\nmetadata: [\n");
  assert.ok((syntax?.line ?? 0) >= 2 && (syntax?.column ?? 0) >= 1, JSON.stringify(syntax));
  const [kind] = await problemsOf("kind: Deployment\n");
  assert.deepEqual([kind?.line, kind?.field], [1, "kind"]);
  assert.equal((await problemsOf(""))[0]?.message, "contains no pod");
  assert.match((await problemsOf(`${pod("a")}---\n${pod("a")}`))[0]?.message ?? "", /repeated/);
  assert.match((await problemsOf(pod("taken")))[0]?.message ?? "", /already exists with another pod/);
  const conflict: ManifestPutResult = { kind: "conflict", pod: "default/a", holder: 'manifest "x"' };
  assert.match((await problemsOf(pod("a"), { a: conflict }))[0]?.message ?? "", /already in manifest "x"/);
  assert.match((await problemsOf(pod("a"), { a: { kind: "full", max: 3 } }))[0]?.message ?? "", /limit of 3/);
});

const mebibyte = 1024 * 1024;
const filled = (piece: string) => piece.repeat(Math.floor(mebibyte / piece.length) - 10);

for (const [what, text] of [
  ["empty lists", `a: [${filled("[],")}]`],
  ["documents", filled("---\n")],
  ["keys", filled("k: v\n")],
  ["empty keys", `a:\n${filled(" :\n")}`],
  ["explicit keys", filled("? a\n")],
  ["aliases", `a:\n - &a x\n${filled(" - *a\n")}`],
  ["comments", filled("#\n")],
  ["nested lists", filled("- ")],
  ["JSON values", `{"a": [${filled("{},")}{}]}`],
] as const)
  test(`a manifest of 1 MiB of ${what} is rejected before it is parsed`, async (t) => {
    const parsed = t.mock.method(Composer.prototype, "compose");
    const json = t.mock.method(JSON, "parse");
    const { manifests } = fakeManifests();
    const rejected = (error: ConsoleProblem) => error.body.error.code === "too-large";
    await assert.rejects(applyManifests(manifests, text, true), rejected);
    assert.deepEqual([parsed.mock.callCount(), json.mock.callCount()], [0, 0]);
  });

test("a manifest of almost 1 MiB with long values, and one with 200 pods, is accepted", async () => {
  const long = `${pod("a")}# ${filled("x")}`.slice(0, mebibyte);
  const text = pod("a").replace("spec: {}", `spec: {containers: [{args: ["${"x".repeat(900_000)}"]}]}`);
  const many = Array.from({ length: 200 }, (_, i) => pod(`p${i}`)).join("---\n");
  for (const accepted of [long, text, many]) {
    const { results } = await applyManifests(fakeManifests().manifests, accepted, true);
    assert.ok(results.length > 0);
  }
});
