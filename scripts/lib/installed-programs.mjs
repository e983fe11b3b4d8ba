import { existsSync } from "node:fs";
import { aptGet } from "./apt-get.mjs";
import { print } from "./print.mjs";

/** Programs that only tests need, with their Debian packages. None of these packages starts a service. */
const wanted = [
  // Without the package dbus, which would add a service: the tests of the D-Bus client start a bus of their own.
  { packages: ["dbus-daemon", "dbus-bin"], programs: ["/usr/bin/dbus-daemon", "/usr/bin/dbus-send"] },
  // Shows the packet filter independently of the iptables that wrote it.
  { packages: ["nftables"], programs: ["/usr/sbin/nft"] },
  // Runs the page of the console; 90 MB.
  { packages: ["chromium"], programs: ["/usr/bin/chromium"] },
];

/** Installs those that are missing. Resolves with why one is not available, or undefined. */
export async function provideInstalledPrograms() {
  const packages = wanted
    .filter(({ programs }) => !programs.every(existsSync))
    .flatMap((entry) => entry.packages);
  if (packages.length === 0) return undefined;
  print(`Installing from Debian: ${packages.join(", ")} ...`);
  await aptGet(["-qq", "update"], { what: "reading the package lists" });
  const install = ["-qq", "-o", "Dpkg::Use-Pty=0", "install", "-y", "--no-install-recommends", ...packages];
  return aptGet(install, { what: "installing" });
}
