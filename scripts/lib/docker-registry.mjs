import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { aptGet } from "./debian-packages.mjs";
import { root } from "./node-packages.mjs";
import { print, seconds } from "./print.mjs";
import { unpackPackage } from "./unpack-package.mjs";

const home = `${root}.cache/docker-registry`;
const downloads = `${root}.cache/docker-registry-debs`;

/**
 * Unpacks Debian's docker-registry into the project's cache, for the tests that pull images. Installed, the package would
 * bring a service that listens on all addresses. Returns undefined when it is available, or why it is not.
 */
export function provideRegistry() {
  if (existsSync(`${home}/usr/bin/docker-registry`)) return undefined;
  if (!existsSync("/usr/bin/apt-get")) return "this is not Debian: apt-get is missing";
  print("Unpacking docker-registry of Debian into .cache/docker-registry (not installed) ...");
  const started = Date.now();
  rmSync(downloads, { recursive: true, force: true });
  mkdirSync(downloads, { recursive: true });
  try {
    // The package lists may be missing or name a version that no longer exists.
    let problem = download();
    if (problem) problem = aptGet(["-qq", "update"]) ?? download();
    problem ??= unpackPackage(downloads, home);
    if (problem) return problem;
  } finally {
    rmSync(downloads, { recursive: true, force: true });
  }
  print(`  done in ${seconds(started)}`);
  return undefined;
}

function download() {
  // The user that apt downloads as cannot write here; signatures are still checked.
  const args = ["-qq", "-o", "APT::Sandbox::User=root", "download", "docker-registry"];
  const done = spawnSync("apt-get", args, { cwd: downloads, encoding: "utf8" });
  return done.status === 0 ? undefined : `apt-get download docker-registry: ${done.stderr.trim()}`;
}
