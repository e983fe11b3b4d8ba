import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { decodeCheckpoint } from "../../src/kubelet/resources/allocation/checkpoint.ts";
import { long } from "../long.ts";
import { recorded } from "./recorded.ts";
import { takeOver, unavailable } from "./run-isolated.ts";
import { effectOf, effects, readTable, toTypeScript, undocumented } from "./upgrade-table.ts";

const document = readFileSync(new URL("../../docs/OPERATING.md", import.meta.url), "utf8");

test("a takeover keeps, rewrites, replaces or creates a part of the state", () => {
  assert.equal(effectOf({}, {}), "-");
  assert.equal(effectOf(undefined, { a: "1" }), "created");
  assert.equal(effectOf({ a: "1" }, { a: "1", b: "2" }), "kept");
  assert.equal(effectOf({ a: "1" }, { a: "2" }), "rewritten");
  assert.equal(effectOf({ a: "1" }, { b: "1" }), "replaced");
  const documented = { a: "kept or rewritten", b: "kept" };
  assert.deepEqual(undocumented({ a: "rewritten", b: "kept" }, documented), []);
  assert.deepEqual(undocumented({ a: "replaced", c: "-" }, documented), [
    "a: replaced, documented: kept or rewritten",
    "c: -, documented: undefined",
    "b: undefined, documented: kept",
  ]);
});

test("the recording has the state files of the reference kubelet, and a token only as a placeholder", () => {
  const paths = new Map(recorded.files.map((file) => [file.path, file]));
  for (const name of ["cpu_manager_state", "memory_manager_state", "dra_manager_state"])
    assert.ok(paths.get(name)?.content, name);
  for (const name of ["allocated_pods_state", "actuated_pods_state"])
    assert.ok(decodeCheckpoint(paths.get(name)!.content!).size > 0);
  assert.ok(recorded.files.some(({ tmpfs }) => tmpfs));
  const tokens = recorded.files.filter(({ path, content }) => path.endsWith("/token") && content);
  assert.ok(tokens.length > 0);
  assert.ok(tokens.every(({ content }) => content === "recorded"));
});

describe(long("kubelet-ts on the recorded node of the reference kubelet, with a real containerd"), {
  skip: unavailable,
}, () => {
  test("keeps and rewrites what the document states", async () => {
    const { before, after } = await takeOver();
    const measured = effects(before, after);
    // No certificates are recorded, and the reference kubelet has only its own.
    delete measured.certificates;
    const { certificates, ...documented } = readTable(document, toTypeScript)[toTypeScript] ?? {};
    assert.equal(certificates, "kept");
    assert.deepEqual(undocumented(measured, documented), []);
  });
});
