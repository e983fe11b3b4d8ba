import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** How it handles mount requests; a successful one mounts a tmpfs in place of the server's export. */
export type MountMode = "good" | "refused" | "hangs" | "waits";

/** A program `mount` for the agent's PATH, instead of the system's: there is no real NFS server. */
export class FakeMount {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async install(mode: MountMode): Promise<void> {
    await mkdir(this.#dir, { recursive: true });
    const script = `#!/bin/sh
echo "$@" >>'${this.#dir}/calls'
for target in "$@"; do :; done
case "$(cat '${this.#dir}/mode')" in
  refused) echo "mount.nfs: Connection refused" >&2; exit 32 ;;
  waits) touch '${this.#dir}/waiting'; while [ ! -e '${this.#dir}/go' ]; do sleep 0.1; done ;;
  hangs) echo $$ >>'${this.#dir}/hanging'; exec sleep 1000 ;;
esac
exec /bin/mount -t tmpfs fake "$target"
`;
    await writeFile(join(this.#dir, "mount"), script);
    await chmod(join(this.#dir, "mount"), 0o755);
    await this.set(mode);
  }

  get path(): string {
    return `${this.#dir}:${process.env.PATH}`;
  }

  set(mode: MountMode): Promise<void> {
    return writeFile(join(this.#dir, "mode"), mode);
  }

  /** The arguments of each call, in one line. */
  calls(): string[] {
    const file = join(this.#dir, "calls");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  }

  /** True once it was called and waits for release(). */
  isWaiting(): boolean {
    return existsSync(join(this.#dir, "waiting"));
  }

  release(): Promise<void> {
    return writeFile(join(this.#dir, "go"), "");
  }

  /** Mount processes that hang until they are killed. */
  hanging(): number[] {
    const file = join(this.#dir, "hanging");
    if (!existsSync(file)) return [];
    const pids = readFileSync(file, "utf8").trim().split("\n").map(Number);
    return pids.filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("sleep");
      } catch {
        return false;
      }
    });
  }
}
