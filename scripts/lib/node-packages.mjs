// Runs with the installed Node.js (20 or newer), before any npm package is installed.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { versionsMatch } from "./package-versions.mjs";
import { fail, print, seconds } from "./print.mjs";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const node24 = `${root}node_modules/node-linux-${process.arch}/bin/node`;

export function needLinux() {
  if (process.platform !== "linux") {
    fail(
      `kubelet-ts runs containers and so needs Linux; this is ${process.platform}. Use a Linux virtual machine.`,
    );
  }
  if (process.arch !== "x64" && process.arch !== "arm64") {
    fail(`kubelet-ts runs on x64 and arm64; this is ${process.arch}.`);
  }
}

/** npm records the installed packages in node_modules/.package-lock.json. */
export function packagesAreCurrent() {
  if (!existsSync(node24)) return false;
  try {
    const packagesIn = (file) => JSON.parse(readFileSync(`${root}${file}`, "utf8")).packages;
    return versionsMatch(packagesIn("package-lock.json"), packagesIn("node_modules/.package-lock.json"));
  } catch {
    return false; // nothing was installed, or incompletely
  }
}

export function installPackages() {
  if (packagesAreCurrent()) return;
  print("Installing npm packages, Node 24 among them ...");
  const started = Date.now();
  // The versions of the lock file, as with npm ci, which would remove node_modules of a running node. No package runs a script.
  const args = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const done = spawnSync("npm", args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (done.status !== 0) fail("npm could not install the packages: see its messages above.");
  if (!existsSync(node24)) {
    fail(
      `npm did not bring Node 24 (${node24}); optional dependencies may be switched off (npm config get omit).`,
    );
  }
  print(`  done in ${seconds(started)}`);
}

/** Installs npm packages, Debian packages and the bundles for a local node, where they are missing or outdated. */
export function prepareNode() {
  installPackages();
  const prepared = spawnSync(node24, [`${root}scripts/prepare.mjs`], { stdio: "inherit" });
  if (prepared.status !== 0) process.exit(prepared.status ?? 1);
}
