// Runs under the Node that the machine has (20 or newer), with no npm package installed yet.
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fail, say, seconds } from "./say.mjs";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const node24 = `${root}node_modules/node-linux-${process.arch}/bin/node`;

export function needLinux() {
  if (process.platform !== "linux") {
    fail(
      `kubelet-ts runs containers and so needs Linux; this is ${process.platform}. A Linux virtual machine will do.`,
    );
  }
  if (process.arch !== "x64" && process.arch !== "arm64") {
    fail(`kubelet-ts runs on x64 and arm64; this is ${process.arch}.`);
  }
}

/** npm writes node_modules/.package-lock.json last: older than the lock file, it belongs to another set of packages. */
export function packagesAreCurrent() {
  const installed = `${root}node_modules/.package-lock.json`;
  return (
    existsSync(installed) &&
    existsSync(node24) &&
    statSync(installed).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs
  );
}

export function installPackages() {
  if (packagesAreCurrent()) return;
  say("Installing npm packages, Node 24 among them ...");
  const started = Date.now();
  // Not npm ci: it refuses a lock file without the binaries of foreign platforms, which some registries do not carry.
  // This takes the same versions from the lock file and leaves the file as it is.
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  const done = spawnSync("npm", args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (done.status !== 0) fail("npm could not install the packages: see its messages above.");
  if (!existsSync(node24)) {
    fail(
      `npm did not bring Node 24 (${node24}); optional dependencies may be switched off (npm config get omit).`,
    );
  }
  say(`  done in ${seconds(started)}`);
}
