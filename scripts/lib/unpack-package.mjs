import { spawnSync } from "node:child_process";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Unpacks the Debian package that was downloaded into a folder, without installing it. Returns an error message, or undefined on success. */
export function unpackPackage(downloads, target) {
  const deb = readdirSync(downloads).find((name) => name.endsWith(".deb"));
  if (!deb) return "apt-get downloaded nothing";
  const partial = `${target}.new`;
  rmSync(partial, { recursive: true, force: true });
  const done = spawnSync("dpkg-deb", ["-x", join(downloads, deb), partial], { encoding: "utf8" });
  if (done.status !== 0) return `dpkg-deb -x ${deb}: ${done.stderr.trim()}`;
  rmSync(target, { recursive: true, force: true });
  renameSync(partial, target);
  return undefined;
}
