import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isolationUnavailable, startIsolated } from "./isolated-host.ts";
import type { UpReport } from "./isolated-up.ts";
import { containerdVersions } from "./test-node.ts";

const installed = containerdVersions()[0]!.available;
const built = existsSync(new URL("../../dist/kubelet.cjs", import.meta.url)) || "not built";
const reason = [isolationUnavailable || true, installed, built].find((available) => available !== true);

describe("npm start", { skip: reason ?? false }, () => {
  for (const signal of ["SIGINT", "SIGTERM"]) {
    test(`brings the demo pod to Running, and ${signal} leaves nothing behind`, async () => {
      const script = fileURLToPath(new URL("./isolated-up.ts", import.meta.url));
      const host = startIsolated([process.execPath, script, signal]);
      const [out, err] = await Promise.all([text(host.child.stdout!), text(host.child.stderr!), host.exited]);
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
