import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { ContentFile, Payload } from "./payload.ts";

/** For tests: a temporary directory that is removed after the test. */
export function tempDir(t: { after(fn: () => void): void }, parent = tmpdir()): string {
  const dir = mkdtempSync(join(parent, "content-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function payloadOf(files: Readonly<Record<string, string>>, mode = 0o644): Payload {
  return new Map(
    Object.entries(files).map(([path, text]): [string, ContentFile] => [
      path,
      { data: Buffer.from(text), mode },
    ]),
  );
}

/** The files of a volume, with `..data` resolved once; undefined if there is none. */
export function filesOf(dir: string): Record<string, string> | undefined {
  let root: string;
  try {
    root = realpathSync(join(dir, "..data"));
  } catch {
    return undefined;
  }
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  const paths = entries.map((e) => join(e.parentPath, e.name)).sort();
  return Object.fromEntries(paths.map((path) => [relative(root, path), readFileSync(path, "utf8")]));
}

/** The entries of the root: symlinks as "name -> target", with a placeholder for the generation. */
export function rootOf(dir: string): string[] {
  const plain = (name: string) => name.replace(/^\.\.\d{4}(_\d\d){5}\.\d+$/, "..<time>");
  return readdirSync(dir)
    .sort()
    .map((name) =>
      lstatSync(join(dir, name)).isSymbolicLink()
        ? `${name} -> ${plain(readlinkSync(join(dir, name)))}`
        : plain(name),
    );
}

export function modeOf(path: string): string {
  return (lstatSync(path).mode & 0o7777).toString(8);
}
