import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { buildImage, type OciImage } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import type { TarEntry } from "../../src/single-node/tar.ts";

/** A shell, and a program of this machine with the libraries that it loads. */
export function programImage(name: string, program: string): OciImage {
  const libraries = [...execFileSync("ldd", [program], { encoding: "utf8" }).matchAll(/(\/\S+) \(0x/g)].map(
    (match) => match[1]!,
  );
  const file = (path: string, from: string): TarEntry => ({
    type: "file",
    name: path.replace(/^\//, ""),
    mode: 0o755,
    data: readFileSync(from),
  });
  const dirs = [...new Set(libraries.flatMap((path) => dirsAbove(path)))];
  const applets = ["sh", "cat", "sleep", "tr", "cut"].map(
    (applet): TarEntry => ({ type: "symlink", name: `bin/${applet}`, target: "busybox" }),
  );
  return buildImage({
    names: [name],
    layers: [
      [
        ...["bin", "tmp", "etc"].map((dir): TarEntry => ({ type: "dir", name: dir })),
        ...dirs.map((dir): TarEntry => ({ type: "dir", name: dir })),
        file("bin/busybox", findProgram("busybox")!),
        ...applets,
        ...libraries.map((path) => file(path, path)),
        file(`bin/${basename(program)}`, program),
      ],
    ],
    config: { Cmd: ["sh"], Env: ["PATH=/bin"] },
  });
}

function dirsAbove(path: string): string[] {
  const dir = dirname(path);
  return dir === "/" ? [] : [...dirsAbove(dir), dir.slice(1)];
}
