import { closeSync, readSync } from "node:fs";
import koffi from "koffi";
import { errnoOf } from "../base/errors.ts";
import { layout, linux } from "../base/linux.ts";
import { systemError } from "./libc.ts";

/** The name follows. */
const headBytes = layout["sizeof(struct inotify_event)"];
const bufferBytes = 64 * 1024;

interface Calls {
  init(flags: number): number;
  add(fd: number, path: string, mask: number): number;
}
let calls: Calls | undefined;

function inotify(): Calls {
  const library = koffi.load(null);
  return {
    init: library.func("int inotify_init1(int flags)") as Calls["init"],
    add: library.func("int inotify_add_watch(int fd, const char *path, unsigned int mask)") as Calls["add"],
  };
}

/**
 * Which names of a directory were deleted. The watch of Node.js reports one and the same event for a name that was deleted,
 * created, or moved; only the kernel's event distinguishes a file that was deleted and written again from one that was
 * renamed over. It is read on demand: the watch of Node.js signals when.
 */
export class DeletedNames {
  readonly #fd: number;
  #isOpen = true;
  #isGone = false;
  #names = new Set<string>();

  constructor(dir: string) {
    calls ??= inotify();
    const fd = calls.init(linux.IN_NONBLOCK | linux.IN_CLOEXEC);
    if (fd < 0) throw systemError(koffi.errno(), "inotify_init1");
    if (calls.add(fd, dir, linux.IN_DELETE | linux.IN_ONLYDIR) < 0) {
      const error = systemError(koffi.errno(), `watch ${dir}`);
      closeSync(fd);
      throw error;
    }
    this.#fd = fd;
  }

  /** The names that were deleted since the last call. */
  take(): Set<string> {
    this.#readAll();
    const names = this.#names;
    this.#names = new Set();
    return names;
  }

  /** True once the directory itself was deleted: a new one at its path is not watched, even if it reuses the inode. */
  get isGone(): boolean {
    this.#readAll();
    return this.#isGone;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#fd);
  }

  #readAll(): void {
    const buffer = Buffer.allocUnsafe(bufferBytes);
    for (;;) {
      const length = this.#read(buffer);
      if (length === 0) return;
      for (let at = 0; at < length; ) {
        const mask = buffer.readUInt32LE(at + layout["offsetof(struct inotify_event, mask)"]);
        const from = at + headBytes;
        at = from + buffer.readUInt32LE(at + layout["offsetof(struct inotify_event, len)"]);
        if (mask & linux.IN_IGNORED) this.#isGone = true;
        if ((mask & linux.IN_DELETE) === 0) continue;
        const end = buffer.indexOf(0, from);
        this.#names.add(buffer.toString("utf8", from, end === -1 ? at : Math.min(end, at)));
      }
    }
  }

  #read(buffer: Buffer): number {
    if (!this.#isOpen) return 0;
    try {
      return readSync(this.#fd, buffer);
    } catch (error) {
      if (errnoOf(error) === "EAGAIN") return 0;
      throw error;
    }
  }
}
