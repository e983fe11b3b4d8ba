import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { buildImage, type OciImage, pauseImage } from "./oci-image.ts";
import { tar } from "./tar.ts";

let dir: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), "oci-"));
});
after(() => rmSync(dir, { recursive: true, force: true }));

/** The layout as another program (tar) reads it. */
function unpack(image: OciImage, name: string): string {
  const target = join(dir, name);
  execFileSync("mkdir", [target]);
  execFileSync("tar", ["-x", "-C", target], { input: image.archive });
  return target;
}

const read = (root: string, digest: string) => readFileSync(join(root, "blobs", digest.replace(":", "/")));
const sha256 = (data: Buffer) => `sha256:${createHash("sha256").update(data).digest("hex")}`;

test("the same content results in the same bytes", () => {
  assert.deepEqual(pauseImage({ arch: "x64" }).archive, pauseImage({ arch: "x64" }).archive);
  assert.notEqual(pauseImage({ arch: "x64" }).digest, pauseImage({ arch: "arm64" }).digest);
});

test("every blob is named by its digest and every descriptor has its size", () => {
  const image = pauseImage({ arch: "x64" });
  const root = unpack(image, "pause");
  for (const name of readdirSync(join(root, "blobs/sha256"))) {
    assert.equal(sha256(readFileSync(join(root, "blobs/sha256", name))), `sha256:${name}`);
  }
  const index = JSON.parse(readFileSync(join(root, "index.json"), "utf8"));
  const [descriptor] = index.manifests;
  assert.equal(descriptor.digest, image.digest);
  const manifest = JSON.parse(read(root, descriptor.digest).toString());
  for (const { digest, size } of [descriptor, manifest.config, ...manifest.layers]) {
    assert.equal(read(root, digest).length, size);
  }
  const config = JSON.parse(read(root, manifest.config.digest).toString());
  assert.equal(manifest.config.digest, image.id);
  assert.equal(config.architecture, "amd64");
  assert.deepEqual(
    config.rootfs.diff_ids,
    manifest.layers.map((layer: { digest: string }) => layer.digest),
  );
  assert.deepEqual(config.config.Entrypoint, ["/pause"]);
});

test("an image may have several names, each with a tag", () => {
  const image = pauseImage({ names: ["localhost/a/pause:1", "docker.io/library/pause:3.10"], arch: "x64" });
  const index = JSON.parse(readFileSync(join(unpack(image, "names"), "index.json"), "utf8"));
  assert.deepEqual(
    index.manifests.map(
      (m: { annotations: Record<string, string> }) => m.annotations["io.containerd.image.name"],
    ),
    image.names,
  );
  assert.throws(() => pauseImage({ names: ["localhost:5000/pause"] }), /has no tag/);
});

test("an unknown architecture is rejected", () => {
  assert.throws(() => buildImage({ names: ["a:1"], layers: [], config: {}, arch: "mips" }), {
    code: "Architecture",
  });
});

test("tar keeps modes, directories, links and sizes that do not fill a block", () => {
  const file = join(dir, "t.tar");
  writeFileSync(
    file,
    tar([
      { type: "dir", name: "tmp", mode: 0o1777 },
      { type: "file", name: "tmp/f", mode: 0o640, data: Buffer.from("hello") },
      { type: "file", name: "tmp/full", data: Buffer.alloc(512, 1) },
      { type: "file", name: "tmp/none", data: Buffer.alloc(0) },
      { type: "symlink", name: "tmp/l", target: "f" },
    ]),
  );
  const listed = execFileSync("tar", ["--utc", "--numeric-owner", "-tvf", file], { encoding: "utf8" });
  assert.deepEqual(
    listed
      .trim()
      .split("\n")
      .map((line) => line.replace(/\s+/g, " ")),
    [
      "drwxrwxrwt 0/0 0 1970-01-01 00:00 tmp/",
      "-rw-r----- 0/0 5 1970-01-01 00:00 tmp/f",
      "-rw-r--r-- 0/0 512 1970-01-01 00:00 tmp/full",
      "-rw-r--r-- 0/0 0 1970-01-01 00:00 tmp/none",
      "lrwxrwxrwx 0/0 0 1970-01-01 00:00 tmp/l -> f",
    ],
  );
  assert.throws(() => tar([{ type: "dir", name: "x".repeat(100) }]), RangeError);
});
