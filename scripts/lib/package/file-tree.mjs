// A tree of files in memory: a map of paths to { data, mode } or { target } (a symbolic link).
import { tar } from "../../../src/single-node/tar.ts";

export function file(data, mode = 0o644) {
  return { data: typeof data === "string" ? Buffer.from(data) : data, mode };
}

export function link(target) {
  return { target };
}

/** The tree below a directory. */
export function below(dir, tree) {
  return new Map([...tree].map(([path, entry]) => [`${dir}/${path}`, entry]));
}

/** Later trees win. */
export function merge(...trees) {
  return new Map(trees.flatMap((tree) => [...tree]));
}

/** Entries in the order of their paths, each directory once and before its content. */
export function archive(tree, { seconds, prefix = "", emptyDirs = [] }) {
  const directories = new Set([
    ...[...tree.keys()].flatMap(parents),
    ...emptyDirs,
    ...emptyDirs.flatMap(parents),
  ]);
  const entries = [...directories, ...tree.keys()].sort(byText).map((path) => {
    const entry = tree.get(path);
    const name = prefix + path;
    if (!entry) return { type: "dir", name };
    return entry.target === undefined
      ? { type: "file", name, mode: entry.mode, data: entry.data }
      : { type: "symlink", name, target: entry.target };
  });
  return tar(prefix ? [{ type: "dir", name: prefix.replace(/\/$/, "") }, ...entries] : entries, seconds);
}

function parents(path) {
  const steps = path.split("/").slice(0, -1);
  return steps.map((_, at) => steps.slice(0, at + 1).join("/"));
}

/** Compares by code units, so that the order does not depend on the locale. */
export function byText(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
