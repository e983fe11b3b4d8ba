import { spawnSync } from "node:child_process";
import { aptGet } from "./debian-packages.mjs";
import { print } from "./print.mjs";

/** Without the package dbus, which would add a service: the tests start a bus of their own. */
const packages = ["dbus-daemon", "dbus-bin"];

/** Installs the message bus that the tests of the D-Bus client use, unless it is there. Returns why it is not available, or undefined. */
export function provideMessageBus() {
  const programs = ["dbus-daemon", "dbus-send"];
  if (programs.every((program) => spawnSync(program, ["--version"]).error === undefined)) return undefined;
  print(`Installing from Debian: ${packages.join(", ")} ...`);
  aptGet(["-qq", "update"]);
  return aptGet(["-qq", "-o", "Dpkg::Use-Pty=0", "install", "-y", "--no-install-recommends", ...packages]);
}
