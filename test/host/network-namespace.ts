import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type IptablesVariant = "nft" | "legacy";

/** A network namespace with its own packet filter, and directories of programs for PATH. */
export class NetworkNamespace {
  readonly #dir = mkdtempSync(join(tmpdir(), "kubelet-ts-netns-"));
  readonly #file = join(this.#dir, "netns");

  constructor() {
    writeFileSync(this.#file, "");
    execFileSync("unshare", [`--net=${this.#file}`, "true"]);
  }

  /** A PATH in which `iptables` and `ip6tables` are programs of this variant, as update-alternatives would do it. */
  pathOf(variant: IptablesVariant): string {
    const dir = join(this.#dir, variant);
    mkdirSync(dir);
    for (const program of ["iptables", "ip6tables"])
      for (const suffix of ["", "-save", "-restore"])
        symlinkSync(`/usr/sbin/${program}-${variant}${suffix}`, join(dir, `${program}${suffix}`));
    return `${dir}:${process.env.PATH}`;
  }

  /** A PATH without any program. */
  emptyPath(): string {
    const dir = join(this.#dir, "empty");
    mkdirSync(dir);
    return dir;
  }

  /** The start of a command line that runs a program in the namespace. */
  launcher(path: string): [string, ...string[]] {
    return ["/usr/bin/nsenter", `--net=${this.#file}`, "/usr/bin/env", `PATH=${path}`];
  }

  run(path: string, command: readonly string[], input = ""): { status: number | null; output: string } {
    const [program, ...args] = [...this.launcher(path), ...command] as [string, ...string[]];
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", input });
    return { status, output: status === 0 ? stdout : `${stdout}${stderr}` };
  }

  remove(): void {
    execFileSync("umount", [this.#file]);
    rmSync(this.#dir, { recursive: true });
  }
}
