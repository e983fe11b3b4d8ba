// Runs with the installed Node.js (20 or newer), before any npm package is installed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { packagesForHere, versionsMatch } from "./package-versions.mjs";
import { fail, print, reportProgress, seconds } from "./print.mjs";

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

const packagesIn = (file) => JSON.parse(readFileSync(`${root}${file}`, "utf8")).packages;

/** npm records the installed packages in node_modules/.package-lock.json. */
export function packagesAreCurrent() {
  if (!existsSync(node24)) return false;
  try {
    return versionsMatch(packagesIn("package-lock.json"), packagesIn("node_modules/.package-lock.json"));
  } catch {
    return false; // nothing was installed, or incompletely
  }
}

/** "212 of 230 packages": those of the lock file that this machine needs, and those that npm has written. */
function installedPackages() {
  const paths = packagesForHere(packagesIn("package-lock.json"));
  const there = paths.filter((path) => existsSync(`${root}${path}/package.json`));
  return `${there.length} of ${paths.length} packages`;
}

export async function installPackages() {
  if (packagesAreCurrent()) return;
  print("Installing npm packages, Node 24 among them ...");
  const started = Date.now();
  // npm install without saving installs the versions of the lock file. npm ci would first remove node_modules, also of a running node. No package runs a script.
  const args = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = spawn("npm", args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const end = reportProgress("installing", { howMuch: installedPackages });
  const [status] = await once(npm, "close");
  end();
  if (status !== 0) fail("npm could not install the packages: see its messages above.");
  if (!existsSync(node24)) {
    fail(
      `npm did not bring Node 24 (${node24}); optional dependencies may be switched off (npm config get omit).`,
    );
  }
  print(`  done in ${seconds(started)}`);
}

/** Installs npm packages, Debian packages and the bundles for a local node, where they are missing or outdated. */
export async function prepareNode() {
  await installPackages();
  const prepared = spawnSync(node24, [`${root}scripts/prepare.mjs`], { stdio: "inherit" });
  if (prepared.status !== 0) process.exit(prepared.status ?? 1);
}
