import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { cli } from "../e2e/cli-process.ts";
import { waitFor } from "../e2e/wait-for.ts";

const link = "http://127.0.0.1:10280/console/#login=top-secret";

/** A kubelet that issues this link, and a xdg-open that records how it was started, and what it can read. */
async function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), "console-open-"));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const name of ["bin", "root", "tmp", "out"]) mkdirSync(join(dir, name));
  for (const name of [".", "tmp", "out"]) chmodSync(join(dir, name), 0o777);
  const server = createServer((_, response) => void response.end(JSON.stringify({ link })));
  await new Promise<void>((resolve) => server.listen(join(dir, "root/kubelet.sock"), resolve));
  t.after(() => server.close());
  const out = join(dir, "out/started");
  const script = `#!/bin/sh
{ id -u; tr '\\0' ' ' < /proc/$$/cmdline; echo; tr '\\0' ' ' < /proc/$$/environ; echo
  stat -c '%a %u' "$1" "$(dirname "$1")"; cat "$1"; } > ${out}.new 2>&1
mv ${out}.new ${out}
`;
  writeFileSync(join(dir, "bin/xdg-open"), script, { mode: 0o755 });
  const { XDG_RUNTIME_DIR: _, ...rest } = process.env;
  const env = { ...rest, TMPDIR: join(dir, "tmp"), PATH: `${join(dir, "bin")}:${process.env.PATH}` };
  const open = async (more: NodeJS.ProcessEnv) => {
    const { status, stdout, stderr } = await cli(["console", "--open", "--root-dir", join(dir, "root")], {
      env: { ...env, ...more },
    });
    assert.deepEqual([status, stdout], [0, `${link}\n`], stderr);
    await waitFor(() => assert.ok(existsSync(out)));
    const [uid, command, environment, file, parent, ...page] = readFileSync(out, "utf8").split("\n");
    return { uid, command, environment, file, parent, page: page.join("\n") };
  };
  return { open };
}

for (const [who, uid, more] of [
  ["root", "0", {}],
  ["the user who runs sudo", "65534", { SUDO_UID: "65534", SUDO_GID: "65534", SUDO_USER: "nobody" }],
] as const)
  test(`a link is opened as ${who}, by a file that only this user can read, and is not an argument`, async (t) => {
    const { open } = await setUp(t);
    const started = await open(more);
    assert.equal(started.uid, uid);
    assert.doesNotMatch(`${started.command} ${started.environment}`, /top-secret/);
    assert.deepEqual([started.file, started.parent], [`600 ${uid}`, `700 ${uid}`]);
    assert.match(started.page, new RegExp(`http-equiv="refresh" content="0; url=${link}"`));
  });
