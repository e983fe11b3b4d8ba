import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launcher as bundleLauncher } from "./program-launcher.mjs";

let root;
const launcher = fileURLToPath(new URL("../../bin/kubelet", import.meta.url));

before(() => {
  root = mkdtempSync(join(tmpdir(), "launcher-"));
  mkdirSync(join(root, "project/bin"), { recursive: true });
  mkdirSync(join(root, "elsewhere"));
  cpSync(launcher, join(root, "project/bin/kubelet"));
  symlinkSync("../project/bin/kubelet", join(root, "elsewhere/one"));
  symlinkSync(join(root, "elsewhere/one"), join(root, "elsewhere/two"));
});
after(() => rmSync(root, { recursive: true, force: true }));

function launch(path, args = [], env = {}) {
  return spawnSync(join(root, path), args, { encoding: "utf8", env: { PATH: process.env.PATH, ...env } });
}

test("bin/kubelet fails without Node.js or the bundle and names the command to run, otherwise it runs the bundle", () => {
  const bare = launch("project/bin/kubelet");
  assert.equal(bare.status, 1);
  assert.match(bare.stderr, /Node 24 is not installed: run "npm install" in .*project/);

  const node = join(root, `project/node_modules/node-linux-${process.arch}/bin/node`);
  mkdirSync(join(node, ".."), { recursive: true });
  writeFileSync(
    node,
    '#!/bin/sh\nfor a in "$@"; do echo "[$a]"; done\necho "[arenas $MALLOC_ARENA_MAX]"\nexit 7\n',
  );
  chmodSync(node, 0o755);
  const unbuilt = launch("project/bin/kubelet");
  assert.equal(unbuilt.status, 1);
  assert.match(unbuilt.stderr, /not built yet: run "npm run build"/);

  mkdirSync(join(root, "project/dist"));
  writeFileSync(join(root, "project/dist/kubelet.cjs"), "");
  for (const path of ["project/bin/kubelet", "elsewhere/one", "elsewhere/two"]) {
    const run = launch(path, ["pods", "a b"]);
    assert.equal(run.status, 7, `${path}: the exit status is the kubelet's`);
    assert.deepEqual(run.stdout.trim().split("\n"), [
      "[--disable-sigusr1]",
      "[--max-semi-space-size=1]",
      `[${join(root, "project/dist/kubelet.cjs")}]`,
      "[pods]",
      "[a b]",
      "[arenas 2]",
    ]);
  }
});

test("bin/kubelet finds its project when it is run from PATH", () => {
  const env = { PATH: process.env.PATH, KUBELET_NODE: "/bin/echo" };
  const run = spawnSync("sh", ["kubelet"], { encoding: "utf8", cwd: join(root, "project/bin"), env });
  assert.equal(run.stdout.trim().split(" ").at(-1), join(root, "project/dist/kubelet.cjs"), run.stderr);
});

test("a KUBELET_NODE that does not exist is reported", () => {
  const run = launch("project/bin/kubelet", [], { KUBELET_NODE: "/no/such/node" });
  assert.equal(run.status, 1);
  assert.match(run.stderr, /Node 24 is not installed \(\/no\/such\/node\)/);
});

test("the directory of compiled code is not writable by other users with umask 0, and not used if it is", () => {
  const dist = join(root, "dist");
  const cache = join(dist, ".compile-cache");
  mkdirSync(dist);
  writeFileSync(join(dist, "main.cjs"), "setTimeout(() => {}, 3500);");
  writeFileSync(join(dist, "kubelet.cjs"), bundleLauncher(`${dist}/`));
  const start = () => {
    const { status, stderr } = spawnSync(
      "/bin/sh",
      ["-c", 'umask 0; exec "$0" "$1"', process.execPath, join(dist, "kubelet.cjs")],
      { encoding: "utf8", env: { PATH: process.env.PATH } },
    );
    assert.deepEqual([status, stderr], [0, ""]);
  };
  start();
  assert.equal(statSync(cache).mode & 0o777, 0o700);
  assert.notDeepEqual(readdirSync(cache), []);
  rmSync(cache, { recursive: true });
  mkdirSync(cache);
  chmodSync(cache, 0o777);
  start();
  assert.deepEqual(readdirSync(cache), []);
});
