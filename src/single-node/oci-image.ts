import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { KubeletError } from "../lib/base/errors.ts";
import { pauseElf } from "./pause-elf.ts";
import { run } from "./run.ts";
import { type TarEntry, tar } from "./tar.ts";

export const pauseImageName = "localhost/kubelet-ts/pause:1";
export const demoImageName = "localhost/kubelet-ts/demo:1";

export interface OciImage {
  /** Full names with tags. */
  readonly names: readonly string[];
  /** "sha256:…" of the config: the image's id. */
  readonly id: string;
  /** "sha256:…" of the manifest. */
  readonly digest: string;
  /** An OCI layout in a tar archive, for `ctr images import`. */
  readonly archive: Buffer;
}

export interface ImageContent {
  names: readonly string[];
  /** One layer each, bottom first. */
  layers: readonly (readonly TarEntry[])[];
  config: { Entrypoint?: string[]; Cmd?: string[]; Env?: string[]; WorkingDir?: string; User?: string };
  arch?: string;
}

/** The pause image. */
export function pauseImage(options: { names?: readonly string[]; arch?: string } = {}): OciImage {
  return buildImage({
    names: options.names ?? [pauseImageName],
    layers: [[{ type: "file", name: "pause", mode: 0o755, data: pauseElf(options.arch) }]],
    config: { Entrypoint: ["/pause"], WorkingDir: "/", User: "65535:65535" },
    arch: options.arch,
  });
}

/** A small userland from the host's static busybox: a shell and the usual commands. */
export async function busyboxImage(options: {
  busybox: string;
  names?: readonly string[];
}): Promise<OciImage> {
  const applets = (await run({ program: options.busybox, options: ["--list"] })).split("\n");
  const program = readFileSync(options.busybox);
  return buildImage({
    names: options.names ?? [demoImageName],
    layers: [userland(program, applets.filter(Boolean).sort())],
    config: { Cmd: ["sh"], Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] },
  });
}

function userland(busybox: Buffer, applets: readonly string[]): TarEntry[] {
  const file = (name: string, text: string): TarEntry => ({ type: "file", name, data: Buffer.from(text) });
  const dirs = [
    "bin",
    "dev",
    "etc",
    "home",
    "proc",
    "root",
    "sys",
    "tmp",
    "usr",
    "usr/bin",
    "usr/sbin",
    "var",
  ];
  const dirModes: Record<string, number> = { tmp: 0o1777, root: 0o700 };
  return [
    ...dirs.map((name): TarEntry => ({ type: "dir", name, mode: dirModes[name] ?? 0o755 })),
    { type: "symlink", name: "sbin", target: "bin" },
    { type: "file", name: "bin/busybox", mode: 0o755, data: busybox },
    ...applets
      .filter((applet) => applet !== "busybox" && !applet.includes("/"))
      .map((applet): TarEntry => ({ type: "symlink", name: `bin/${applet}`, target: "busybox" })),
    { type: "symlink", name: "usr/bin/env", target: "../../bin/busybox" },
    file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n"),
    file("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    file("etc/shadow", "root:*:::::::\nnobody:*:::::::\n"),
  ];
}

const ociArch: Record<string, string> = { x64: "amd64", arm64: "arm64" };

/** Reproducible: the same content results in the same digests. */
export function buildImage(content: ImageContent): OciImage {
  const architecture = ociArch[content.arch ?? process.arch];
  if (!architecture)
    throw new KubeletError("Architecture", `images for ${content.arch ?? process.arch} are not supported`);
  const blobs = new Map<string, Buffer>();
  const store = (mediaType: string, data: Buffer) => {
    const digest = sha256(data);
    blobs.set(digest, data);
    return { mediaType, digest, size: data.length };
  };
  const layers = content.layers.map((entries) =>
    store("application/vnd.oci.image.layer.v1.tar", tar(entries)),
  );
  const config = store(
    "application/vnd.oci.image.config.v1+json",
    json({
      created: "1970-01-01T00:00:00Z",
      architecture,
      os: "linux",
      config: content.config,
      rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.digest) },
    }),
  );
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const manifest = store(mediaType, json({ schemaVersion: 2, mediaType, config, layers }));
  const index = json({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: content.names.map((name) => ({
      ...manifest,
      annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": tagOf(name) },
      platform: { architecture, os: "linux" },
    })),
  });
  const archive = tar([
    { type: "file", name: "oci-layout", data: json({ imageLayoutVersion: "1.0.0" }) },
    { type: "file", name: "index.json", data: index },
    { type: "dir", name: "blobs" },
    { type: "dir", name: "blobs/sha256" },
    ...[...blobs].map(
      ([digest, data]): TarEntry => ({ type: "file", name: `blobs/${digest.replace(":", "/")}`, data }),
    ),
  ]);
  return { names: content.names, id: config.digest, digest: manifest.digest, archive };
}

function tagOf(name: string): string {
  const tag = /:([\w][\w.-]{0,127})$/.exec(name)?.[1];
  if (!tag) throw new KubeletError("ImageName", `"${name}" has no tag`);
  return tag;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function sha256(data: Buffer): string {
  return `sha256:${createHash("sha256").update(data).digest("hex")}`;
}
