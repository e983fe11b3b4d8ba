import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** A file below the root directory. */
export interface RecordedFile {
  readonly path: string;
  readonly mode: number;
  readonly content?: string;
  readonly link?: string;
  /** A directory that is a tmpfs. */
  readonly tmpfs?: true;
}

/** State files and the directories of pods, without the sockets and without certificates. */
export function recordFiles(rootDir: string): RecordedFile[] {
  const files: RecordedFile[] = [];
  const add = (path: string) => {
    const full = join(rootDir, path);
    const at = lstatSync(full);
    const mode = at.mode & 0o7777;
    if (at.isSymbolicLink()) files.push({ path, mode, link: readlinkSync(full) });
    else if (at.isFile()) files.push({ path, mode, content: textOf(full) });
    else if (at.isDirectory()) {
      const tmpfs = at.dev !== lstatSync(dirname(full)).dev;
      files.push({ path, mode, ...(tmpfs && { tmpfs }) });
      for (const name of readdirSync(full).sort()) add(join(path, name));
    }
  };
  for (const name of readdirSync(rootDir).sort()) if (name !== "pki") add(name);
  return files;
}

/** A token is a secret, even of a cluster that is gone. */
function textOf(path: string): string {
  return path.endsWith("/token") ? "recorded" : readFileSync(path, "utf8");
}

export function restoreFiles(rootDir: string, files: readonly RecordedFile[]): void {
  mkdirSync(rootDir, { recursive: true });
  for (const { path, mode, content, link, tmpfs } of files) {
    const full = join(rootDir, path);
    if (link !== undefined) {
      symlinkSync(link, full);
      continue;
    }
    if (content !== undefined) writeFileSync(full, content);
    else mkdirSync(full, { recursive: true });
    if (tmpfs) execFileSync("mount", ["-t", "tmpfs", "tmpfs", full]);
    chmodSync(full, mode);
  }
}
