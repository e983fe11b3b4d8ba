import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gateTable } from "./feature-gate-table.ts";
import { FeatureGates } from "./feature-gates.ts";
import { flagTable } from "./flags/table.ts";
import { kubeletFields } from "./kubelet-configuration.ts";
import type { Fields } from "./schema.ts";
import {
  fieldsWithoutEffect,
  flagsWithoutEffect,
  gatesWithoutEffect,
  notImplemented,
} from "./settings-without-effect.ts";

const sources = new URL("../../", import.meta.url).pathname;

function leaves(fields: Fields, prefix = ""): string[] {
  return Object.entries(fields).flatMap(([name, { type }]) =>
    type.kind === "object" ? leaves(type.fields, `${prefix}${name}.`) : [`${prefix}${name}`],
  );
}

/** Fields that a kubelet v1.36 validates and never reads. */
const unusedUpstream = [
  "hairpinMode",
  "iptablesDropBit",
  "iptablesMasqueradeBit",
  "showHiddenMetricsForVersion",
];

test("each field and flag has an effect, or is listed as having none", () => {
  const readers = globSync("**/*.ts", {
    cwd: sources,
    exclude: (file) =>
      /\.test\.ts$|^lib\/(?:gen|config\/(?:flags|validate|kubelet-configuration|settings-))/.test(
        String(file),
      ),
  });
  const words = new Set(
    readers.flatMap((file) => readFileSync(join(sources, file), "utf8").match(/\w+/g) ?? []),
  );
  for (const name of leaves(kubeletFields)) {
    const listed = fieldsWithoutEffect.has(name) || unusedUpstream.includes(name);
    if (!listed) assert.ok(words.has(name.split(".").at(-1) ?? ""), `nothing reads ${name}`);
  }
  for (const { name, target } of flagTable.values())
    if (target.in === "flags" && notImplemented([name], []) === undefined)
      assert.ok(words.has(target.key), `nothing reads --${name}`);
});

test("only fields and flags that exist are listed", () => {
  const fields = leaves(kubeletFields);
  for (const name of [...fieldsWithoutEffect, ...unusedUpstream]) assert.ok(fields.includes(name), name);
  for (const name of flagsWithoutEffect) assert.ok(flagTable.has(name), name);
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

test("settings that have an effect, and those that no kubelet reads, are not named", () => {
  assert.equal(
    notImplemented(
      ["config", "v", "hairpin-mode", "storage-driver-db"],
      ["hairpinMode", "staticPodPath", "crashLoopBackOff.maxContainerRestartPeriod"],
    ),
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
  for (const gate of gatesWithoutEffect) {
    assert.equal(gateTable[gate].locked, false, gate);
    const read = spawnSync(
      "grep",
      ["-rlE", "--include=*.ts", "--exclude=*.test.ts", `enabled\\("${gate}"|gates\\("${gate}"`, "."],
      { cwd: sources, encoding: "utf8" },
    );
    assert.equal(read.stdout, "", `${gate} is read`);
    assert.equal(read.status, 1, read.stderr);
  }
});
