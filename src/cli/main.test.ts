import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { version } from "./version.ts";

const main = new URL("./main.ts", import.meta.url).pathname;

function kubelet(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
}

test("help and version need neither a configuration file nor valid fields", () => {
  const broken = ["--config=/nowhere", "--max-pods=-1"];
  for (const flag of ["--version", "--version=raw"])
    assert.deepEqual(kubelet(flag, ...broken), { status: 0, stdout: `Kubernetes ${version}\n`, stderr: "" });
  const { status, stdout, stderr } = kubelet("--help", ...broken);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /^ +--max-pods int32 /m);
});

test("an unknown flag together with --version is an error", () => {
  assert.deepEqual(kubelet("--version", "--nope"), {
    ...{ status: 1, stdout: "", stderr: "kubelet: unknown flag: --nope\n" },
  });
});

test("--version=false starts the agent", () => {
  const { status, stdout, stderr } = kubelet("--version=false", "--config=/nowhere");
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /^kubelet: \/nowhere: cannot be read: ENOENT/);
});

test("an unknown command is an error", () => {
  const { status, stderr } = kubelet("nope");
  assert.equal(status, 1);
  assert.match(stderr, /^kubelet: unknown command: nope \(available: /);
});
