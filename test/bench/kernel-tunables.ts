import { readFileSync, writeFileSync } from "node:fs";

/** The settings that a kubelet sets at startup; kubelet-ts does not with `--keep-kernel-tunables`. */
const files = [
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
].map((name) => `/proc/sys/${name}`);

/** The kernel tunables of the machine as they were: a reference kubelet changes them. */
export class KernelTunables {
  readonly #values = new Map(files.map((file) => [file, read(file)]));

  restore(): void {
    for (const [file, value] of this.#values)
      if (value !== undefined && read(file) !== value) writeFileSync(file, value);
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // this kernel does not have it
  }
}
