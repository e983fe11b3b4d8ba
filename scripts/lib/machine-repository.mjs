// A directory that apt reads as a repository: the packages that a base guest needs for ours, without a network.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isolatedApt } from "./isolated-apt.mjs";
import { machineSuite } from "./machine-packages.mjs";
import { relations } from "./package/debian-package.mjs";

/** The packages that apt installs together with ours: the first alternative of each dependency and recommendation. */
export const repositoryPackages = `${relations.Depends}, ${relations.Recommends}`
  .split(", ")
  .map((alternatives) => alternatives.split(" ")[0]);

/**
 * Downloads them, with the packages that they need in turn and that the filesystem `tree` does not have. What they recommend is omitted:
 * it is not used (Python, for criu) and takes minutes to install in a guest.
 */
export async function createRepository({ work, tree, target, run }) {
  const apt = join(work, "repository-apt");
  const options = isolatedApt(apt, machineSuite);
  copyFileSync(join(tree, "var/lib/dpkg/status"), join(apt, "status"));
  await run("apt-get", ["-qq", ...options, "update"]);
  const install = ["install", "--yes", "--download-only", "--no-install-recommends"];
  await run("apt-get", ["-qq", ...options, ...install, ...repositoryPackages]);
  mkdirSync(target);
  const debs = readdirSync(join(apt, "archives")).filter((name) => name.endsWith(".deb"));
  const entries = [];
  for (const name of debs.sort()) {
    renameSync(join(apt, "archives", name), join(target, name));
    const control = await run("dpkg-deb", ["--field", join(target, name)]);
    entries.push(`${control.trim()}\n${fileFields(target, name)}\n`);
  }
  writeFileSync(join(target, "Packages"), entries.join("\n"));
}

function fileFields(dir, name) {
  const data = readFileSync(join(dir, name));
  const sum = createHash("sha256").update(data).digest("hex");
  return `Filename: ./${name}\nSize: ${data.length}\nSHA256: ${sum}`;
}
