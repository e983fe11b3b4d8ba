// Runs under Node 24, which reads TypeScript: the list of requirements is in src/single-node.
import { existsSync } from "node:fs";
import { debianPackages, describeMissing, findRequirements } from "../../src/single-node/requirements.ts";
import { aptGet } from "./apt-get.mjs";
import { print, seconds } from "./print.mjs";

/**
 * Installs programs that a local node needs and the machine lacks. Resolves with undefined when nothing is missing, or
 * with a message for the user.
 */
export async function installDebianPackages() {
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
  await aptGet([...options, "update"], { what: "reading the package lists" });
  const install = [...options, "install", "-y", "--no-install-recommends", ...packages];
  const installed = await aptGet(install, { what: "installing" });
  if (installed !== undefined)
    return `Could not install packages from Debian:\n${installed}\nThe command was: ${command}`;
  const now = findRequirements();
  if (!now.ok) {
    return ["The packages are installed, but still missing:", ...describeMissing(now.missing)].join("\n  ");
  }
  print(`  done in ${seconds(started)}`);
  return undefined;
}
