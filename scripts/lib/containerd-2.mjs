import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aptGet } from "./debian-packages.mjs";
import { root } from "./node-packages.mjs";
import { say, seconds } from "./say.mjs";
import { unpackPackage } from "./unpack-package.mjs";

// trixie has 1.7; the suite after it is the first with a containerd 2.
const suite = "forky";
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
const cache = `${root}.cache/`;
const home = `${cache}containerd-2`;

/** Where containerd 2.x is, once unpacked. */
export const containerd2Dir = `${home}/usr/bin`;

/**
 * Unpacks containerd 2.x of a newer Debian suite into the project's cache: nothing of the system changes, not even
 * apt's lists. Returns undefined when it is there, or why it is not.
 */
export function provideContainerd2() {
  if (versionOf(containerd2Dir)?.startsWith("2.")) return undefined;
  if (!existsSync("/usr/bin/apt-get") || !existsSync(keyring))
    return "this is not Debian: apt-get or its keyring is missing";
  say(`Unpacking containerd 2.x of Debian ${suite} into .cache/containerd-2 (not installed) ...`);
  const started = Date.now();
  const work = `${cache}apt`;
  try {
    const problem = download(work) ?? unpackPackage(join(work, "debs"), home);
    if (problem) return problem;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const version = versionOf(containerd2Dir);
  if (!version?.startsWith("2."))
    return `Debian ${suite} has containerd ${version ?? "that does not run here"}, not 2.x`;
  say(`  containerd ${version}, done in ${seconds(started)}`);
  return undefined;
}

function versionOf(dir) {
  const done = spawnSync(`${dir}/containerd`, ["--version"], { encoding: "utf8" });
  return done.status === 0 ? /\s(\d+\.\d+\.\d+)/.exec(done.stdout)?.[1] : undefined;
}

function download(work) {
  rmSync(work, { recursive: true, force: true });
  for (const dir of ["lists/partial", "archives/partial", "sources", "debs"]) {
    mkdirSync(join(work, dir), { recursive: true });
  }
  writeFileSync(join(work, "status"), "");
  writeFileSync(
    join(work, "sources", "newer.sources"),
    `Types: deb\nURIs: http://deb.debian.org/debian\nSuites: ${suite}\nComponents: main\nSigned-By: ${keyring}\n`,
  );
  const settings = {
    "Dir::State": work,
    "Dir::State::lists": join(work, "lists"),
    "Dir::State::status": join(work, "status"),
    "Dir::Cache": work,
    "Dir::Etc::SourceList": "/dev/null",
    "Dir::Etc::SourceParts": join(work, "sources"),
    "Dir::Etc::Preferences": "/dev/null",
    "Dir::Etc::PreferencesParts": "/dev/null",
    "Acquire::Languages": "none",
    // The user that apt downloads as cannot write here; signatures are checked all the same.
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["-o", `${key}=${value}`]);
  const problem = aptGet(["-qq", ...options, "update"]);
  if (problem) return `apt-get update for ${suite}: ${problem}`;
  const done = spawnSync("apt-get", ["-qq", ...options, "download", "containerd"], {
    cwd: join(work, "debs"),
    encoding: "utf8",
  });
  return done.status === 0 ? undefined : `apt-get download containerd: ${done.stderr.trim()}`;
}
