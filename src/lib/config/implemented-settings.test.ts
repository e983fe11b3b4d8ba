import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { gateTable } from "./feature-gate-table.ts";
import { FeatureGates } from "./feature-gates.ts";
import { flagTable } from "./flags/table.ts";
import {
  gatesWithoutEffect,
  implementedFields,
  implementedFlags,
  notImplemented,
} from "./implemented-settings.ts";
import { kubeletFields } from "./kubelet-configuration.ts";
import type { Fields } from "./schema.ts";

function leaves(fields: Fields, prefix = ""): string[] {
  return Object.entries(fields).flatMap(([name, { type }]) =>
    type.kind === "object" ? leaves(type.fields, `${prefix}${name}.`) : [`${prefix}${name}`],
  );
}

test("only flags and fields that exist are implemented", () => {
  const fields = leaves(kubeletFields);
  for (const name of implementedFields) assert.ok(fields.includes(name), name);
  for (const name of implementedFlags) assert.ok(flagTable.has(name), name);
});

test("a flag is implemented exactly if its configuration field is", () => {
  for (const { name, target } of flagTable.values()) {
    if (target.in === "config")
      assert.equal(implementedFlags.has(name), implementedFields.has(target.path.join(".")), name);
    if (target.in === "nowhere") assert.equal(implementedFlags.has(name), false, name);
  }
});

test("a single line names all settings without effect, each once", () => {
  assert.equal(
    notImplemented(
      ["config", "kube-api-content-type", "kube-api-content-type"],
      ["staticPodPath", "contentType", "contentType"],
    ),
    "accepted but not implemented yet: --kube-api-content-type, config contentType",
  );
});

test("no line if everything is implemented", () => {
  assert.equal(
    notImplemented(["config", "v"], ["staticPodPath", "crashLoopBackOff.maxContainerRestartPeriod"]),
    undefined,
  );
});

test("all TLS settings are implemented", () => {
  const fields = leaves(kubeletFields).filter((name) => name.startsWith("tls"));
  assert.ok(fields.length >= 5);
  assert.equal(notImplemented([], fields), undefined);
});

test("a gate without effect is named if it was set to another value than its default", () => {
  const line = (settings: Record<string, boolean>) =>
    notImplemented([], [], new FeatureGates(settings).changed());
  assert.equal(
    line({ ClientsAllowCBOR: true, AtomicFIFO: false, EnvFiles: false }),
    "accepted but not implemented yet: feature gate AtomicFIFO, feature gate ClientsAllowCBOR",
  );
  assert.equal(line({ ClientsAllowCBOR: false, AtomicFIFO: true }), undefined);
  assert.match(line({ AllAlpha: true }) ?? "", /feature gate ClientsAllowCBOR/);
  assert.equal(line({ StorageVersionAPI: true }), undefined, "no kubelet has it");
});

test("no source reads a gate that is listed as having no effect", () => {
  const root = new URL("../../", import.meta.url);
  for (const gate of gatesWithoutEffect) {
    assert.equal(gateTable[gate].locked, false, gate);
    const read = spawnSync(
      "grep",
      ["-rlE", "--include=*.ts", "--exclude=*.test.ts", `enabled\\("${gate}"|gates\\("${gate}"`, "."],
      {
        cwd: root,
        encoding: "utf8",
      },
    );
    assert.equal(read.stdout, "", `${gate} is read`);
    assert.equal(read.status, 1, read.stderr);
  }
});
