import assert from "node:assert/strict";
import { test } from "node:test";
import { actedOnFields, actedOnFlags, notActedOn } from "./acted-on.ts";
import { flagTable } from "./flags/table.ts";
import { kubeletFields } from "./kubelet-configuration.ts";
import type { Fields } from "./schema.ts";

function leaves(fields: Fields, prefix = ""): string[] {
  return Object.entries(fields).flatMap(([name, { type }]) =>
    type.kind === "object" ? leaves(type.fields, `${prefix}${name}.`) : [`${prefix}${name}`],
  );
}

test("only flags and fields that exist are acted on", () => {
  const fields = leaves(kubeletFields);
  for (const name of actedOnFields) assert.ok(fields.includes(name), name);
  for (const name of actedOnFlags) assert.ok(flagTable.has(name), name);
});

test("a flag is acted on exactly if its configuration field is", () => {
  for (const { name, target } of flagTable.values()) {
    if (target.in === "config")
      assert.equal(actedOnFlags.has(name), actedOnFields.has(target.path.join(".")), name);
    if (target.in === "nowhere") assert.equal(actedOnFlags.has(name), false, name);
  }
});

test("a single line names all settings without effect, each once", () => {
  assert.equal(
    notActedOn(
      ["config", "kube-api-content-type", "vmodule", "kube-api-content-type"],
      ["staticPodPath", "evictionHard", "contentType", "contentType"],
    ),
    "accepted but not acted on yet: --kube-api-content-type, --vmodule, config evictionHard, config contentType",
  );
});

test("no line if everything is acted on", () => {
  assert.equal(
    notActedOn(["config", "v"], ["staticPodPath", "crashLoopBackOff.maxContainerRestartPeriod"]),
    undefined,
  );
});

test("all TLS settings are acted on", () => {
  const fields = leaves(kubeletFields).filter((name) => name.startsWith("tls"));
  assert.ok(fields.length >= 5);
  assert.equal(notActedOn([], fields), undefined);
});
