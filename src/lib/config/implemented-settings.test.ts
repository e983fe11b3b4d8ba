import assert from "node:assert/strict";
import { test } from "node:test";
import { flagTable } from "./flags/table.ts";
import { implementedFields, implementedFlags, notImplemented } from "./implemented-settings.ts";
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
      ["config", "kube-api-content-type", "qos-reserved", "kube-api-content-type"],
      ["staticPodPath", "qosReserved", "contentType", "contentType"],
    ),
    "accepted but not implemented yet: --kube-api-content-type, --qos-reserved, config qosReserved, config contentType",
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
