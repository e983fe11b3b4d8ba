import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { boxUnavailable, startBox } from "./box.ts";
import { containerdVersions } from "./test-node.ts";
import type { UpReport } from "./up-in-box.ts";

const installed = containerdVersions()[0]!.available;
const built = existsSync(new URL("../../dist/kubelet.cjs", import.meta.url)) || "not built";
const reason = [boxUnavailable || true, installed, built].find((available) => available !== true);

describe("npm start", { skip: reason ?? false }, () => {
  for (const signal of ["SIGINT", "SIGTERM"]) {
    test(`brings the demo pod to Running, and ${signal} leaves nothing behind`, async () => {
      const script = fileURLToPath(new URL("./up-in-box.ts", import.meta.url));
      const box = startBox([process.execPath, script, signal]);
      const [out, err] = await Promise.all([text(box.child.stdout!), text(box.child.stderr!), box.ended]);
      assert.match(out, /^\{/, err);
      const report: UpReport = JSON.parse(out);
      assert.match(report.output, /Running.* 1\/1/);
      const kinds = new Set(report.ran.map((leak) => leak.kind));
      assert.deepEqual(kinds, new Set(["processes", "mounts", "networkNamespaces", "links", "cgroups"]));
      assert.deepEqual(report.left, [], report.output);
      assert.equal(report.status, 0);
    });
  }
});
