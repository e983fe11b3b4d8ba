// Files of npm packages, of any architecture: from node_modules, or from a download whose checksum the lock file has.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** Reads files of a package by their path in it. */
export function npmFiles(root) {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));
  const installed = installedVersions(root);
  const archives = new Map();

  return {
    locked(name) {
      const entry = packages[`node_modules/${name}`];
      if (!entry) throw new Error(`package-lock.json has no ${name}`);
      return entry;
    },
    read(name, path) {
      const { version, integrity } = this.locked(name);
      if (installed[`node_modules/${name}`]?.version === version)
        return readFileSync(join(root, "node_modules", name, path));
      if (!archives.has(name)) archives.set(name, untar(download(root, name, version, integrity)));
      const data = archives.get(name).get(path);
      if (!data) throw new Error(`${name}@${version} has no file ${path}`);
      return data;
    },
  };
}

function installedVersions(root) {
  try {
    return JSON.parse(readFileSync(`${root}node_modules/.package-lock.json`, "utf8")).packages;
  } catch {
    return {};
  }
}

/** Kept in .cache, and checked each time it is used. */
function download(root, name, version, integrity) {
  const dir = `${root}.cache/npm-packages/`;
  const file = `${dir}${name.replace(/^@/, "").replace("/", "-")}-${version}.tgz`;
  if (!existsSync(file)) {
    const work = `${dir}new-${process.pid}`;
    mkdirSync(work, { recursive: true });
    try {
      execFileSync("npm", ["pack", "--silent", "--pack-destination", work, `${name}@${version}`], {
        cwd: work,
        stdio: ["ignore", "ignore", "inherit"],
      });
      renameSync(
        join(
          work,
          readdirSync(work).find((entry) => entry.endsWith(".tgz")),
        ),
        file,
      );
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  const data = readFileSync(file);
  checkIntegrity(`${name}@${version}`, data, integrity);
  return data;
}

export function checkIntegrity(what, data, integrity) {
  const [, algorithm, expected] = /^(sha512)-(\S+)$/.exec(integrity ?? "") ?? [];
  if (!algorithm) throw new Error(`${what}: package-lock.json has no SHA-512 checksum of it`);
  if (createHash(algorithm).update(data).digest("base64") !== expected)
    throw new Error(`${what}: the download does not match its checksum in package-lock.json`);
}

/** The files of a package archive, whose paths all start with a folder. */
function untar(archive) {
  const data = gunzipSync(archive);
  const files = new Map();
  for (let at = 0; at + 512 <= data.length && data[at] !== 0; ) {
    const text = (from, to) => data.toString("utf8", at + from, at + to).replace(/\0.*$/s, "");
    const size = Number.parseInt(text(124, 136), 8);
    const path = [text(345, 500), text(0, 100)].filter(Boolean).join("/");
    const type = text(156, 157);
    if (type === "0" || type === "")
      files.set(path.replace(/^[^/]+\//, ""), data.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
