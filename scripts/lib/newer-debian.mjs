import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { aptGet } from "./apt-get.mjs";
import { aptFiles, isolatedApt } from "./isolated-apt.mjs";
import { root } from "./node-packages.mjs";
import { print, seconds } from "./print.mjs";
import { unpackPackage } from "./unpack-package.mjs";

const cache = `${root}.cache/`;

/** Programs of newer Debian suites that tests are run with. trixie has containerd 1.7: only the next one has a 2. */
const wanted = [
  { name: "containerd-2", suite: "forky", program: "containerd", args: ["--version"], version: "2." },
  {
    name: "kubectl-1.36",
    suite: "forky",
    program: "kubectl",
    args: ["version", "--client"],
    version: "1.36.",
  },
  {
    name: "kubectl-1.32",
    suite: "trixie",
    program: "kubectl",
    args: ["version", "--client"],
    version: "1.32.",
  },
];

/**
 * Unpacks them into the project's cache: nothing on the system changes, not even apt's lists. Resolves with undefined when
 * all are available, or the missing programs and the reason.
 */
export async function provideNewerPrograms() {
  const missing = wanted.filter((one) => !isThere(one));
  if (missing.length === 0) return undefined;
  if (!aptFiles.every(existsSync)) return "this is not Debian: apt-get or its keyring is missing";
  const names = missing.map(({ name, suite }) => `${name} (Debian ${suite})`).join(", ");
  print(`Unpacking into .cache, not installed: ${names} ...`);
  const started = Date.now();
  const work = `${cache}apt`;
  try {
    for (const suite of new Set(missing.map((one) => one.suite))) {
      const options = isolatedApt(work, suite);
      const problem = await aptGet(["-qq", ...options, "update"], { what: "reading the package lists" });
      if (problem) return `apt-get update for ${suite}: ${problem}`;
      for (const one of missing.filter((m) => m.suite === suite)) {
        const failure =
          download(options, work, one.program) ?? unpackPackage(join(work, "debs"), cache + one.name);
        if (failure) return failure;
        if (!isThere(one)) return `Debian ${suite} has ${one.program} ${versionOf(one)}, not ${one.version}x`;
      }
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  print(`  done in ${seconds(started)}`);
  return undefined;
}

function isThere(one) {
  return versionOf(one)?.startsWith(one.version) === true;
}

function versionOf({ name, program, args }) {
  const done = spawnSync(`${cache}${name}/usr/bin/${program}`, args, { encoding: "utf8" });
  return done.status === 0 ? /\sv?(\d+\.\d+\.\d+)/.exec(done.stdout)?.[1] : undefined;
}

function download(options, work, name) {
  const debs = join(work, "debs");
  rmSync(debs, { recursive: true, force: true });
  mkdirSync(debs);
  const done = spawnSync("apt-get", ["-qq", ...options, "download", name], { cwd: debs, encoding: "utf8" });
  return done.status === 0 ? undefined : `apt-get download ${name}: ${done.stderr.trim()}`;
}
