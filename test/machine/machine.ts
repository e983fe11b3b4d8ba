import { type ChildProcess, spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { findProgram } from "../../src/single-node/requirements.ts";
import { timeoutFactor } from "../timeout-factor.ts";
import { machineFiles } from "./machine-files.ts";
import { createNetwork, type MachineNetwork, removeNetwork } from "./machine-network.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface MachineOptions {
  /** The memory of the guest. Pages that it never touches cost nothing. */
  readonly memoryMb?: number;
  /** 1: with the unified hierarchy alongside, as systemd mounts them (hybrid). */
  readonly cgroupVersion?: 1 | 2;
  /** Boots a minimal Debian, without a runtime and without the programs of other tests. */
  readonly base?: boolean;
  /** Boots the older kernel, as with cgroup v1: the newer one has no iptables. */
  readonly iptables?: boolean;
  /** Enables AppArmor in the kernel. The runtime then loads a profile for each container, which takes time. */
  readonly appArmor?: boolean;
}

const bootTimeoutMs = 180_000 * timeoutFactor;
const commandTimeoutMs = 120_000;

/** A guest with its own kernel, systemd and cgroup v2. It ends with the test process, however that ends. */
export class Machine {
  /** Only the host and the guest are in it. */
  readonly network: MachineNetwork;
  readonly #dir: string;
  readonly #start: () => ChildProcess;
  #kernel: ChildProcess;
  #serialLine: Duplex;
  #exited: Promise<void>;
  /** The next ones that the guest reports. */
  #ready = Promise.withResolvers<void>();
  #rebooted = Promise.withResolvers<void>();
  readonly #waiting = new Map<string, PromiseWithResolvers<number>>();
  #commands = 0;
  #isPoweredOff = false;

  private constructor(start: () => ChildProcess, dir: string, network: MachineNetwork) {
    this.network = network;
    this.#dir = dir;
    this.#start = start;
    this.#kernel = start();
    this.#serialLine = this.#serialLineOf(this.#kernel);
    this.#exited = exitOf(this.#kernel);
  }

  /** Resolves when the guest runs commands, which is before systemd has started everything. */
  static async boot(options: MachineOptions = {}): Promise<Machine> {
    const { kernel, olderKernel, disk, baseDisk } = await machineFiles();
    const program = options.cgroupVersion === 1 || options.iptables ? olderKernel : kernel;
    removeAbandoned();
    const dir = mkdtempSync(join(tmpdir(), `machine-${process.pid}-`));
    const network = createNetwork();
    const memory = options.memoryMb ?? 2048;
    const args = [
      `mem=${memory}M`,
      // Writes go to the first file: the disk image is not modified.
      `ubd0=${join(dir, "changes.img")},${options.base ? baseDisk : disk}`,
      ...["root=/dev/ubda", "rw", "con=null", "con0=null,fd:1", "ssl0=fd:3"],
      // A program that uses io_uring stops this kernel with a fault.
      ...["seccomp=on", "sysctl.kernel.io_uring_disabled=2"],
      `vec0:transport=tap,ifname=${network.link},depth=64,gro=0`,
      ...(options.appArmor ? ["apparmor=1", "security=apparmor"] : []),
      `uml_dir=${dir}`,
      `machine.exchange=${dir}`,
      ...["systemd.show_status=0", `systemd.unified_cgroup_hierarchy=${options.cgroupVersion === 1 ? 0 : 1}`],
    ];
    const start = () => {
      const console = openSync(join(dir, "console.log"), "a");
      const kernel = spawn(join(import.meta.dirname, "start-kernel"), args, {
        // All processes of the guest are in this group.
        detached: true,
        // The kernel finds its C library there.
        cwd: dirname(program),
        stdio: ["ignore", console, console, "pipe"],
        env: { PATH: process.env.PATH, HOME: dir, TMPDIR: memoryDir(memory), MACHINE_KERNEL: program },
      });
      closeSync(console);
      return kernel;
    };
    const machine = new Machine(start, dir, network);
    try {
      await machine.#untilReady();
      await machine.#configureNetwork(options.base);
    } catch (error) {
      await machine.powerOff();
      throw error;
    }
    return machine;
  }

  /** Runs a bash script in the guest; several may run at a time. */
  async run(script: string, options: { timeoutMs?: number } = {}): Promise<CommandResult> {
    if (this.#isPoweredOff) throw new Error("the machine is powered off");
    const id = `command-${++this.#commands}`;
    const file = (end: string) => join(this.#dir, `${id}.${end}`);
    writeFileSync(file("sh"), script);
    const result = Promise.withResolvers<number>();
    this.#waiting.set(id, result);
    this.#serialLine.write(`${id}\n`);
    const code = await this.#withTimeout(
      result.promise,
      options.timeoutMs ?? commandTimeoutMs,
      `"${script}"`,
    );
    this.#waiting.delete(id);
    const output = (end: string) => readFileSync(file(end), "utf8");
    const [stdout, stderr] = [output("out"), output("err")];
    for (const end of ["sh", "out", "err"]) rmSync(file(end), { force: true });
    return { code, stdout, stderr };
  }

  /** The output of a script that must succeed. */
  async sh(script: string, options: { timeoutMs?: number } = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(script, options);
    if (code !== 0)
      throw new Error(`exit code ${code} of "${script}" in the machine: ${stderr.trim()}\n${stdout}`);
    return stdout;
  }

  /** Creates or replaces a file in the guest. */
  async write(path: string, content: string | Buffer): Promise<void> {
    const name = `file-${++this.#commands}`;
    writeFileSync(join(this.#dir, name), content);
    // Renamed into place: a kubelet that watches the directory never sees half of it.
    const temporary = `$(dirname '${path}')/.${basename(path)}.new`;
    await this.sh(
      `mkdir -p "$(dirname '${path}')" && cp /exchange/${name} "${temporary}" && mv "${temporary}" '${path}'`,
    );
    rmSync(join(this.#dir, name));
  }

  /** Shows a directory of this machine in the guest, read-only. */
  async mountHost(hostDir: string, path: string): Promise<void> {
    await this.sh(`mkdir -p '${path}' && mount -t hostfs -o 'ro,${hostDir}' none '${path}'`);
  }

  /** The output of the kernel and systemd. */
  console(): string {
    return readFileSync(join(this.#dir, "console.log"), "utf8");
  }

  /** The end of the journal, for the message of a failed test. */
  async journal(unit?: string, lines = 200): Promise<string> {
    const { stdout } = await this.run(`journalctl --no-pager -o cat -n ${lines} ${unit ? `-u ${unit}` : ""}`);
    return stdout;
  }

  /**
   * Runs a script that powers the guest off, and starts it again on the same disk. Resolves when it runs commands, which is before systemd has
   * started everything. It does not restore the mounts of the host and the network, unless the guest does.
   */
  async restart(script = "systemctl poweroff"): Promise<void> {
    await this.#shutDown(script, () => this.#exited);
    await this.#untilEnded();
    this.#kernel = this.#start();
    this.#serialLine = this.#serialLineOf(this.#kernel);
    this.#exited = exitOf(this.#kernel);
    await this.#untilReady();
  }

  /** Runs a script that reboots the guest in place, otherwise like `restart`. */
  async reboot(script = "systemctl reboot"): Promise<void> {
    this.#rebooted = Promise.withResolvers();
    await this.#shutDown(script, () => this.#withTimeout(this.#rebooted.promise, bootTimeoutMs, "reboot"));
    await this.#untilReady();
  }

  async #shutDown(script: string, isDown: () => Promise<void>): Promise<void> {
    this.#ready = Promise.withResolvers();
    // Otherwise the end of the service that runs commands powers the guest off immediately. The next boot does not have this file.
    const unit = "/run/systemd/system/machine-commands.service.d/restart.conf";
    await this.write(unit, "[Unit]\nSuccessAction=none\nFailureAction=none\n");
    await this.sh("systemctl daemon-reload");
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`"${script}" does not end the guest`)), bootTimeoutMs);
    this.run(script, { timeoutMs: bootTimeoutMs }).catch(() => {});
    await Promise.race([isDown(), late]).finally(() => clearTimeout(timer));
    // Scripts that were running have no result.
    for (const { reject: fail } of this.#waiting.values()) fail(new Error("the guest was shut down"));
    this.#waiting.clear();
  }

  /** Stops the guest immediately: an orderly shutdown would take seconds, and its disk is discarded. */
  async powerOff(): Promise<void> {
    if (this.#isPoweredOff) return;
    this.#isPoweredOff = true;
    this.#end();
    await this.#untilEnded();
    removeNetwork(this.network);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #configureNetwork(isBase = false): Promise<void> {
    const { guestAddress, hostAddress, bits } = this.network;
    // A minimal Debian has no program for it.
    const busybox = "/run/busybox";
    if (isBase) {
      await this.write(busybox, readFileSync(findProgram("busybox")!));
      await this.sh(`chmod 755 ${busybox}`);
    }
    const ip = isBase ? `${busybox} ip` : "ip";
    await this.sh(`${ip} link set lo up && ${ip} address add ${guestAddress}/${bits} dev vec0 &&
      ${ip} link set vec0 up && ${ip} route add default via ${hostAddress}`);
  }

  /** The processes of the guest end a moment after its kernel. */
  async #untilEnded(): Promise<void> {
    await this.#exited;
    while (this.#end()) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** False if no process of the guest is left. */
  #end(): boolean {
    const { pid } = this.#kernel;
    try {
      return pid !== undefined && process.kill(-pid, "SIGKILL");
    } catch {
      return false;
    }
  }

  #untilReady(): Promise<void> {
    return this.#withTimeout(this.#ready.promise, bootTimeoutMs, "boot");
  }

  /** The guest closes its end when it powers off. */
  #serialLineOf(kernel: ChildProcess): Duplex {
    const line = (kernel.stdio[3] as Duplex).on("error", () => {});
    createInterface(line)
      .on("line", (text) => {
        if (text === "ready") this.#ready.resolve();
        if (text === "rebooted") this.#rebooted.resolve();
        const [id, code] = text.split(" ");
        this.#waiting.get(id!)?.resolve(Number(code));
      })
      .on("error", () => {});
    return line;
  }

  async #withTimeout<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const fail = (why: string) =>
      reject(
        new Error(`${what} in the machine: ${why}\n${this.console().split("\n").slice(-15).join("\n")}`),
      );
    const timer = setTimeout(() => fail(`did not finish within ${ms / 1000} s`), ms);
    void this.#exited.then(() => fail("the guest has ended"));
    late.catch(() => {});
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function exitOf(kernel: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    kernel.once("error", () => resolve());
    kernel.once("exit", () => resolve());
  });
}

/** Removes the files of guests whose test process was killed. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = /^machine-(\d+)-\w{6}$/.exec(name)?.[1];
    if (owner && !existsSync(`/proc/${owner}`))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

/** The guest's memory is a file: in memory itself, where there is space. */
function memoryDir(memoryMb: number): string {
  const shm = "/dev/shm";
  try {
    const { bavail, bsize } = statfsSync(shm);
    return (bavail * bsize) / (1 << 20) > 2 * memoryMb ? shm : tmpdir();
  } catch {
    return tmpdir();
  }
}
