import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { long } from "../long.ts";
import { takeOver, unavailable } from "../takeover/run-isolated.ts";
import { effects, readTable, toTypeScript, undocumented } from "../takeover/upgrade-table.ts";

const document = readFileSync(new URL("../../docs/OPERATING.md", import.meta.url), "utf8");

describe(long("a takeover of static pods whose manifests only the reference accepts"), {
  skip: unavailable,
}, () => {
  test("keeps their containers, UIDs and volumes as the recorded node had them, and warns of each oddity", async () => {
    // The UIDs that the reference recorded for the same pods in plain manifests: it decodes both to the same pods.
    const { before, after, log } = await takeOver("odd");
    const measured = effects(before, after);
    delete measured.certificates;
    const { certificates: _, ...documented } = readTable(document, toTypeScript)[toTypeScript] ?? {};
    assert.deepEqual(undocumented(measured, documented), []);
    assert.equal(measured["containers of static pods"], "kept");
    for (const file of ["small.json", "full.json"])
      for (const warning of ['duplicate key \\\\?"metadata', "a second document", "MiB of YAML"])
        assert.match(log, new RegExp(`^W.*${file}.*${warning}|^W.*${warning}.*${file}`, "m"), file);
  });
});
