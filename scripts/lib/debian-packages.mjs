// Runs under Node 24, which reads TypeScript: the list of requirements is in src/single-node.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { debianPackages, describeMissing, findRequirements } from "../../src/single-node/requirements.ts";
import { print, seconds } from "./print.mjs";

/**
 * Installs programs that a local node needs and the machine lacks. Returns undefined when nothing is missing, or a
 * message for the user.
 */
export function installDebianPackages() {
  const found = findRequirements();
  if (found.ok) return undefined;
  const packages = debianPackages(found.missing);
  const lines = describeMissing(found.missing).map((line) => `  ${line}`);
  const command = `apt-get install --no-install-recommends ${packages.join(" ")}`;
  if (!existsSync("/usr/bin/apt-get")) {
    return ["A node needs, and this machine does not have in PATH:", ...lines].join("\n");
  }
  if (process.getuid() !== 0) {
    return ["A node needs, and this machine lacks:", ...lines, "As root, run:", `  ${command}`].join("\n");
  }
  print("Installing from Debian ...");
  for (const name of packages) {
    const reasons = found.missing.filter((m) => m.debianPackage === name).map((m) => m.why);
    print(`  ${name}: ${reasons.join(", ")}`);
  }
  if (existsSync("/run/systemd/system") && packages.includes("containerd")) {
    print(
      "  Debian's package starts a containerd of its own (containerd.service); this project does not use it.",
    );
  }
  const started = Date.now();
  const options = ["-qq", "-o", "Dpkg::Use-Pty=0"];
  // The lists may be old or absent on a fresh machine; without network the existing ones may be sufficient.
  aptGet([...options, "update"]);
  const installed = aptGet([...options, "install", "-y", "--no-install-recommends", ...packages]);
  if (installed !== undefined)
    return `Could not install packages from Debian:\n${installed}\nThe command was: ${command}`;
  const now = findRequirements();
  if (!now.ok) {
    return ["The packages are installed, but still missing:", ...describeMissing(now.missing)].join("\n  ");
  }
  print(`  done in ${seconds(started)}`);
  return undefined;
}

/** The last lines of apt-get's output if it failed, else undefined. */
export function aptGet(args, env = {}) {
  const done = spawnSync("apt-get", args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive", ...env },
  });
  if (done.status === 0) return undefined;
  const output = `${done.stdout}${done.stderr}`.trim().split("\n").slice(-8).join("\n");
  return output || String(done.error ?? `apt-get exited with ${done.status}`);
}
