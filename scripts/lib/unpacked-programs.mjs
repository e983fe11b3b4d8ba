import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { aptGet } from "./apt-get.mjs";
import { root } from "./node-packages.mjs";
import { print, seconds } from "./print.mjs";
import { unpackPackage } from "./unpack-package.mjs";

/** Debian packages whose programs tests run. Installed, each would bring a service that listens on all addresses. */
const packages = [
  { name: "docker-registry", program: "usr/bin/docker-registry" },
  { name: "prometheus", program: "usr/bin/promtool" },
];

/** Unpacks them into the project's cache. Resolves with undefined when all are available, or why one is not. */
export async function provideUnpackedPrograms() {
  const missing = packages.filter(({ name, program }) => !existsSync(`${root}.cache/${name}/${program}`));
  if (missing.length === 0) return undefined;
  if (!existsSync("/usr/bin/apt-get")) return "this is not Debian: apt-get is missing";
  const problems = [];
  for (const { name } of missing) problems.push(await unpack(name));
  return problems.filter(Boolean).join("\n") || undefined;
}

async function unpack(name) {
  print(`Unpacking ${name} of Debian into .cache/${name} (not installed) ...`);
  const started = Date.now();
  const downloads = `${root}.cache/${name}-debs`;
  rmSync(downloads, { recursive: true, force: true });
  mkdirSync(downloads, { recursive: true });
  try {
    // The package lists may be missing or name a version that no longer exists.
    let problem = download(name, downloads);
    if (problem)
      problem =
        (await aptGet(["-qq", "update"], { what: "reading the package lists" })) ?? download(name, downloads);
    problem ??= unpackPackage(downloads, `${root}.cache/${name}`);
    if (problem) return problem;
  } finally {
    rmSync(downloads, { recursive: true, force: true });
  }
  print(`  done in ${seconds(started)}`);
  return undefined;
}

function download(name, directory) {
  // The user that apt downloads as cannot write here; signatures are still checked.
  const args = ["-qq", "-o", "APT::Sandbox::User=root", "download", name];
  const done = spawnSync("apt-get", args, { cwd: directory, encoding: "utf8" });
  return done.status === 0 ? undefined : `apt-get download ${name}: ${done.stderr.trim()}`;
}
