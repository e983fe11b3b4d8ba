import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { repoDir } from "../e2e/agent-process.ts";
import { long } from "../long.ts";
import { removeDir } from "../node/remove-dir.ts";
import { ProjectCopy } from "./project-copy.ts";

const run = promisify(execFile);

test(long("npm install -g of the package installs a working kubelet, even offline"), async (t) => {
  const copy = await ProjectCopy.create("project");
  t.after(() => copy.remove());
  const { dir, names } = await copy.makePackages(`--arch=${process.arch}`, "--format=npm");
  const packed = join(dir, names.find((name) => name.endsWith(".tgz"))!);
  const prefix = await mkdtemp(join(tmpdir(), "npm-prefix-"));
  t.after(() => removeDir(prefix));
  // Node.js is a separate package, which npm would load from the registry: this test uses the project's.
  const node = join(repoDir, `node_modules/node-linux-${process.arch}`);
  const args = ["install", "-g", "--offline", "--no-audit", "--no-fund", "--prefix", prefix, packed, node];
  await run("npm", args, { env: { ...process.env, npm_config_cache: join(prefix, "cache") } });

  const kubelet = join(prefix, "bin/kubelet");
  const { stdout } = await run(kubelet, ["--version"], { env: { PATH: "/usr/bin:/bin" } });
  assert.equal(stdout, "Kubernetes v1.36.4\n");
  // The agent loads native code before it reads its configuration.
  await assert.rejects(run(kubelet, ["--config=/nowhere.yaml"], { env: { PATH: "/usr/bin:/bin" } }), {
    code: 1,
    stderr: /^kubelet: \/nowhere\.yaml: cannot be read: ENOENT[^\n]*\n$/,
  });
});
