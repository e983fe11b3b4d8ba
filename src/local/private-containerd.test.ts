import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeDirectories, nodeFiles } from "./node-files.ts";
import { pauseImage } from "./oci-image.ts";
import { PrivateContainerd } from "./private-containerd.ts";

test("images are imported one at a time, also after one that failed", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "containerd-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const files = nodeFiles("a", join(dir, "base"), join(dir, "run"));
  makeDirectories(files);
  const images = ["one:1", "bad:1", "two:1"].map((name) => pauseImage({ names: [name], arch: "x64" }));
  const ctr = join(dir, "ctr");
  // It fails while another one imports, and for the image "bad"; then it lists all of them.
  writeFileSync(
    ctr,
    `#!/bin/sh
case "$*" in
*import*)
  mkdir ${dir}/importing || exit 1
  grep -q bad && status=2
  rmdir ${dir}/importing
  exit \${status:-0} ;;
*list*) printf '%s\\n' one:1 two:1 ${images[0]!.id} ;;
esac
`,
  );
  chmodSync(ctr, 0o755);
  const program = (name: string) => join(dir, name);
  const containerd = new PrivateContainerd({
    files,
    pauseImage: "one:1",
    binaries: {
      containerd: program("containerd"),
      ctr,
      shim: program("shim"),
      runc: program("runc"),
      iptables: program("iptables"),
      busybox: program("busybox"),
      cniDir: dir,
    },
  });
  const ends = await Promise.allSettled(images.map((image) => containerd.importImage(image)));
  assert.deepEqual(
    ends.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
});
