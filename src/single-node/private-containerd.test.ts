import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../test/contracts/eventually.ts";
import { startFakeRuntime } from "../../test/fake-runtime/fake-runtime.ts";
import { systemClock } from "../lib/base/clock.ts";
import { createDirectories, nodeFiles } from "./node-files.ts";
import { pauseImage } from "./oci-image.ts";
import { PrivateContainerd } from "./private-containerd.ts";

/** The parts of a containerd that an import needs: its CRI, and a ctr, which is a shell script. */
async function fakeContainerd(t: TestContext, script: (dir: string) => string) {
  const dir = mkdtempSync(join(tmpdir(), "containerd-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const files = nodeFiles("a", join(dir, "base"), join(dir, "run"));
  createDirectories(files);
  const runtime = await startFakeRuntime({
    socketPath: files.containerd.socket,
    clock: systemClock,
    images: { "one:1": {}, "two:1": {} },
    registry: { "late:1": {} },
  });
  t.after(() => runtime.close());
  const ctr = join(dir, "ctr");
  writeFileSync(ctr, `#!/bin/sh\n${script(dir)}\n`);
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
  return { containerd, runtime };
}

const image = (...names: string[]) => pauseImage({ names, arch: "x64" });

test("images are imported one at a time, even after a failed import", async (t) => {
  // An import fails while another one is running, and for the image "bad".
  const { containerd } = await fakeContainerd(
    t,
    (dir) =>
      `mkdir ${dir}/importing || exit 1; grep -q bad && status=2; rmdir ${dir}/importing; exit \${status:-0}`,
  );
  const images = [image("one:1"), image("bad:1"), image("two:1")];
  const results = await Promise.allSettled(images.map((each) => containerd.importImage(each)));
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
});

test("an image is imported when the CRI has each of its names", async (t) => {
  const { containerd, runtime } = await fakeContainerd(t, () => "cat >/dev/null");
  let isImported = false;
  const imported = containerd.importImage(image("one:1", "late:1")).then(() => {
    isImported = true;
  });
  const statusCalls = () => runtime.calls.filter(({ method }) => method === "ImageStatus").length;
  await eventually(async () => statusCalls() >= 4 || undefined);
  assert.equal(isImported, false);
  await runtime.images.pull({ image: "late:1" } as Parameters<typeof runtime.images.pull>[0], t.signal);
  await imported;
});
