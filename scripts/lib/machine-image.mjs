// The kernel and the disks of the guests in test/machine, built of Debian packages and kept in the project's cache.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { aptFiles, isolatedApt, mirror } from "./isolated-apt.mjs";
import {
  basePackages,
  disabledUnits,
  kernelSuite,
  machinePackages,
  machineSuite,
  machineTools,
  maskedUnits,
} from "./machine-packages.mjs";
import { createRepository, repositoryPackages } from "./machine-repository.mjs";
import { root } from "./node-packages.mjs";
import { print, reportProgress, seconds } from "./print.mjs";
import { unpackPackage } from "./unpack-package.mjs";

const cache = `${root}.cache/`;
const guestFiles = `${root}test/machine/guest/`;
const needed = [...aptFiles, "/usr/bin/perl", "/usr/bin/dpkg-deb", "/usr/sbin/mke2fs"];
const diskSize = "4G";
const kernelProgram = "user-mode-linux/usr/bin/linux.uml";

/** The files of guests. They exist after `provideMachineImage`. */
export function machineImage() {
  const dir = `${cache}machine-${imageKey()}`;
  return {
    dir,
    kernel: join(dir, "linux.uml"),
    // For guests with cgroup v1.
    olderKernel: join(dir, "linux-v1.uml"),
    disk: join(dir, "disk.img"),
    // With a minimal Debian only; and what apt installs there together with our package.
    baseDisk: join(dir, "base.img"),
    repository: join(dir, "repository"),
  };
}

/**
 * Builds the image, unless one of the same packages and files is in the cache. Runs concurrently with other steps: nothing here blocks.
 * Resolves with undefined when the image is available, or why it is not.
 */
export async function provideMachineImage() {
  const { dir, disk } = machineImage();
  if (existsSync(disk)) return undefined;
  const missing = needed.filter((file) => !existsSync(file));
  if (missing.length > 0)
    return `a machine image is built with Debian's tools: ${missing.join(", ")} missing`;
  print("Building a machine image in .cache from Debian packages, in the background ...");
  const started = Date.now();
  const end = reportProgress("building the machine image", { everyMs: 60_000 });
  const work = `${cache}machine.new`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  try {
    await buildImage(work);
    for (const old of readdirSync(cache).filter((name) => /^machine-[0-9a-f]+$/.test(name)))
      rmSync(cache + old, { recursive: true, force: true });
    renameSync(join(work, "image"), dir);
  } catch (error) {
    return `no machine image, and so no tests in test/machine: ${error.message}`;
  } finally {
    end();
    rmSync(work, { recursive: true, force: true });
  }
  print(`Built a machine image in ${seconds(started)}`);
  return undefined;
}

async function buildImage(work) {
  await unpackTools(work);
  const image = join(work, "image");
  mkdirSync(image);
  const base = join(work, "base");
  await buildTree(work, base, basePackages);
  await createRepository({
    work,
    tree: base,
    target: join(image, "repository"),
    run: (program, args) => command(work, program, args),
  });
  await makeDisk(work, base, join(image, "base.img"));
  const tree = join(work, "root");
  await buildTree(work, tree, machinePackages);
  await command(work, "chroot", [tree, "systemctl", "disable", ...disabledUnits]);
  await makeDisk(work, tree, join(image, "disk.img"));
  installKernel(work, image);
  copyFileSync(join(work, machineSuite, kernelProgram), join(image, "linux-v1.uml"));
}

/**
 * The kernel is a program of a newer Debian release than the host's, so it gets that release's C library, in its own folder. It finds both by
 * names relative to its working directory, which take less space than the original names and so can replace them.
 */
function installKernel(work, image) {
  const libraries = join(work, kernelSuite, "libc6/usr/lib/x86_64-linux-gnu");
  copyFileSync(join(libraries, "ld-linux-x86-64.so.2"), join(image, "ld.so"));
  copyFileSync(join(libraries, "libc.so.6"), join(image, "libc.so"));
  const kernel = readFileSync(join(work, kernelSuite, kernelProgram));
  replaceString(kernel, "/lib64/ld-linux-x86-64.so.2", "./ld.so");
  replaceString(kernel, "libc.so.6", "./libc.so");
  writeFileSync(join(image, "linux.uml"), kernel, { mode: 0o755 });
}

/** Replaces the only string of this content in a program. */
function replaceString(program, from, to) {
  const wanted = Buffer.from(`\0${from}\0`);
  const start = program.indexOf(wanted);
  if (start < 0 || program.indexOf(wanted, start + 1) >= 0)
    throw new Error(`${from} does not occur exactly once in the kernel`);
  program.fill(0, start + 1, start + wanted.length).write(to, start + 1);
}

/** A root filesystem that runs commands of tests when it is booted. */
async function buildTree(work, tree, packages) {
  await command(work, "perl", [
    join(work, machineSuite, "mmdebstrap/usr/bin/mmdebstrap"),
    ...["--mode=root", "--variant=minbase", "--quiet", `--include=${packages.join(",")}`],
    // Documents are half of the files. An option for dpkg would need Python.
    `--setup-hook=mkdir -p "$1/etc/dpkg/dpkg.cfg.d" && printf 'path-exclude=/usr/share/%s/*\\n' doc man locale info >"$1/etc/dpkg/dpkg.cfg.d/no-documents"`,
    ...[machineSuite, tree, mirror],
  ]);
  for (const suite of [kernelSuite, machineSuite]) {
    const modules = join(work, suite, "user-mode-linux/usr/lib/uml/modules");
    const [version] = readdirSync(modules);
    cpSync(join(modules, version), join(tree, "lib/modules", version), { recursive: true });
    await command(work, "chroot", [tree, "depmod", "-a", version]);
  }
  writeFileSync(join(tree, "etc/hostname"), "machine\n");
  // Empty: systemd generates one at boot.
  writeFileSync(join(tree, "etc/machine-id"), "");
  copyFileSync(
    join(guestFiles, "machine-commands.service"),
    join(tree, "etc/systemd/system/machine-commands.service"),
  );
  copyFileSync(join(guestFiles, "machine-commands"), join(tree, "usr/local/sbin/machine-commands"));
  chmodSync(join(tree, "usr/local/sbin/machine-commands"), 0o755);
  await command(work, "chroot", [tree, "systemctl", "enable", "machine-commands.service"]);
  await command(work, "chroot", [tree, "systemctl", "mask", ...maskedUnits]);
}

/** It takes up the space of its content only, and grows with the changes of a guest. */
async function makeDisk(work, tree, disk) {
  await command(work, "mke2fs", ["-q", "-t", "ext4", "-d", tree, disk, diskSize]);
  rmSync(tree, { recursive: true });
}

async function unpackTools(work) {
  for (const [suite, packages] of Object.entries(machineTools)) {
    const options = isolatedApt(join(work, `apt-${suite}`), suite);
    await command(work, "apt-get", ["-qq", ...options, "update"]);
    for (const name of packages) {
      const debs = join(work, suite, `${name}.debs`);
      mkdirSync(debs, { recursive: true });
      await command(debs, "apt-get", ["-qq", ...options, "download", name]);
      const problem = unpackPackage(debs, join(work, suite, name));
      if (problem) throw new Error(problem);
    }
  }
}

const execute = promisify(execFile);

/** Runs a program with a low priority, as tests run at the same time. Resolves with its output. */
async function command(cwd, program, args) {
  const path = `${process.env.PATH}:/usr/sbin:/usr/bin:/sbin:/bin`;
  const env = { ...process.env, PATH: path, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  try {
    const nice = ["-n", "10", program, ...args];
    return (await execute("nice", nice, { cwd, env, maxBuffer: 1 << 26 })).stdout;
  } catch (error) {
    const output = String(error.stderr ?? "")
      .trim()
      .split("\n")
      .slice(-8)
      .join("\n");
    throw new Error(`${program}: ${output || error.message}`);
  }
}

const comments = /^\s*(?:\/\/|\/?\*).*$/gm;

/** Changes with everything that goes into the image, except the versions of the packages; not with comments here. */
function imageKey() {
  const hash = createHash("sha256").update(repositoryPackages.join());
  const code = ["image", "packages", "repository"].map((name) => `scripts/lib/machine-${name}.mjs`);
  const files = [...code, ...globSync("test/machine/guest/*", { cwd: root }).sort()];
  for (const file of files) {
    const text = readFileSync(root + file, "utf8");
    hash.update(`${file}\0${code.includes(file) ? text.replace(comments, "") : text}\0`);
  }
  return hash.digest("hex").slice(0, 16);
}
