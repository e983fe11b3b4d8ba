import { closeSync } from "node:fs";
import { getSystemErrorMap } from "node:util";
import { KubeletError } from "../base/errors.ts";
import { layout, linux } from "../base/linux.ts";

/**
 * The C library of this process, for system calls that Node.js has no function for. An `async` call runs in the
 * thread pool, as the file functions of Node.js do: one that hangs does not stop the agent.
 */
export interface Libc {
  mount(call: MountCall): Promise<void>;
  unmount(path: string, flags: number): Promise<void>;
  /** Opens `path` below an open directory; `resolve` restricts where symbolic links may lead. */
  openAt(dirFd: number, path: string | Buffer, how: OpenHow): Promise<number>;
  makeDirAt(dirFd: number, name: string, mode: number): Promise<void>;
  /** Sets an extended attribute. */
  setAttribute(path: string, name: string, value: Buffer): Promise<void>;
  ioctl(fd: number, request: number, argument: number): number;
  /** A request whose argument is a structure, which the kernel reads or writes. */
  ioctlBuffer(fd: number, request: number, argument: Buffer): void;
  /** A quota command for the filesystem of an open file (quotactl_fd, Linux 5.14). The kernel reads or writes `argument`. */
  quotactl(fd: number, command: number, id: number, argument: Buffer): Promise<void>;
  /** A file descriptor that can be read, eight bytes at a time, after the kernel or a write has added to its counter. */
  eventfd(): number;
  /** Takes an exclusive lock without waiting; false if another process has one. */
  flock(fd: number): boolean;
  /** Sets the soft and the hard limit of open files. */
  limitOpenFiles(files: number): void;
  /** A descriptor of inotify, which can be read without waiting when a process opens the file, or it is deleted. */
  watchOpens(path: string): number;
  /** Moves the position of an open file to its end. */
  seekToEnd(fd: number): void;
  /** Unmaps pages of a private mapping. Changes to them are lost; pages of a file are read again when they are used. */
  releasePages(address: bigint, length: bigint): void;
}

export interface MountCall {
  readonly source: string;
  readonly target: string;
  readonly fsType: string;
  readonly flags: number;
  readonly data: string;
}

export interface OpenHow {
  readonly flags: number;
  readonly mode?: number;
  readonly resolve: number;
}

let loaded: Promise<Libc> | undefined;

/** Loaded at first use: most commands never need it. */
export function libc(): Promise<Libc> {
  loaded ??= load();
  return loaded;
}

/** How many calls may be in the thread pool: koffi allocates memory for each, and rejects the 257th. */
const maxCalls = 64;

/** The garbage collector frees a buffer that no code refers to, even while the call reads it. */
function keepAlive(_buffers: readonly unknown[]): void {}

/** The C library would read the text up to it: another path, or another filesystem. */
function rejectNul(operation: string, text: string | Uint8Array): void {
  if (typeof text === "string" ? text.includes("\0") : text.includes(0))
    throw new KubeletError("EINVAL", `${JSON.stringify(operation)}: contains a NUL character`);
}

type Async = { async(...args: unknown[]): void };

async function load(): Promise<Libc> {
  const { default: koffi } = await import("koffi");
  const library = koffi.load(null);
  const mount = library.func(
    "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
  );
  const umount2 = library.func("int umount2(const char *path, int flags)");
  const openat2 = library.func(
    "long syscall(long number, int dir, const void *path, void *how, size_t size)",
  );
  const mkdirat = library.func("int mkdirat(int dir, const char *path, unsigned int mode)");
  const setxattr = library.func(
    "int setxattr(const char *path, const char *name, const void *value, size_t size, int flags)",
  );
  const ioctl = library.func("int ioctl(int fd, unsigned long request, long argument)");
  const ioctlBuffer = library.func("int ioctl(int fd, unsigned long request, void *argument)");
  const quotactl = library.func(
    "long syscall(long number, unsigned int fd, unsigned int command, int id, void *argument)",
  );

  const eventfd = library.func("int eventfd(unsigned int initial, int flags)");
  const flock = library.func("int flock(int fd, int operation)");
  const madvise = library.func("int madvise(uintptr_t address, size_t length, int advice)");
  const setrlimit = library.func("int setrlimit(int resource, const void *limit)");
  const inotifyInit = library.func("int inotify_init1(int flags)");
  const inotifyAdd = library.func("int inotify_add_watch(int fd, const char *path, unsigned int mask)");
  const lseek = library.func("long lseek(int fd, long offset, int whence)");

  let running = 0;
  const waiting: (() => void)[] = [];
  const run = async (f: unknown, operation: string, ...args: unknown[]) => {
    for (const arg of args) if (typeof arg === "string") rejectNul(operation, arg);
    if (running === maxCalls) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    const call = new Promise<number>((resolve, reject) => {
      (f as Async).async(...args, (error: unknown, result: number) => {
        keepAlive(args);
        if (error) return reject(error);
        if (result < 0) return reject(systemError(koffi.errno(), operation));
        resolve(Number(result));
      });
    });
    return call.finally(() => {
      const next = waiting.shift();
      if (next) next();
      else running--;
    });
  };

  return {
    async mount({ source, target, fsType, flags, data }) {
      await run(mount, `mount ${fsType || source} on ${target}`, source, target, fsType, flags, data || null);
    },
    async unmount(path, flags) {
      await run(umount2, `unmount ${path}`, path, flags);
    },
    async openAt(dirFd, path, { flags, mode = 0, resolve }) {
      rejectNul(`open ${path}`, path);
      const how = Buffer.alloc(layout["sizeof(struct open_how)"]);
      how.writeBigUInt64LE(BigInt(flags | linux.O_CLOEXEC), 0);
      how.writeBigUInt64LE(BigInt(mode), layout["offsetof(struct open_how, mode)"]);
      how.writeBigUInt64LE(BigInt(resolve), layout["offsetof(struct open_how, resolve)"]);
      const name = Buffer.concat([Buffer.from(path), Buffer.alloc(1)]); // Buffer.from() accepts both
      return run(openat2, `open ${path}`, linux.__NR_openat2, dirFd, name, how, how.length);
    },
    async makeDirAt(dirFd, name, mode) {
      await run(mkdirat, `mkdir ${name}`, dirFd, name, mode);
    },
    async setAttribute(path, name, value) {
      await run(setxattr, `set ${name} of ${path}`, path, name, value, value.length, 0);
    },
    ioctl(fd, request, argument) {
      const result: number = ioctl(fd, request, argument);
      if (result < 0) throw systemError(koffi.errno(), `ioctl 0x${request.toString(16)}`);
      return result;
    },
    ioctlBuffer(fd, request, argument) {
      if (ioctlBuffer(fd, request, argument) < 0)
        throw systemError(koffi.errno(), `ioctl 0x${request.toString(16)}`);
    },
    async quotactl(fd, command, id, argument) {
      await run(quotactl, "quotactl", linux.__NR_quotactl_fd, fd, command, id, argument);
    },
    eventfd() {
      const fd: number = eventfd(0, linux.EFD_CLOEXEC);
      if (fd < 0) throw systemError(koffi.errno(), "eventfd");
      return fd;
    },
    flock(fd) {
      if (flock(fd, linux.LOCK_EX | linux.LOCK_NB) === 0) return true;
      const errno = koffi.errno();
      if (errno === koffi.os.errno.EAGAIN) return false;
      throw systemError(errno, "flock");
    },
    limitOpenFiles(files) {
      const limit = Buffer.alloc(layout["sizeof(struct rlimit)"]);
      limit.writeBigUInt64LE(BigInt(files), 0);
      limit.writeBigUInt64LE(BigInt(files), layout["offsetof(struct rlimit, rlim_max)"]);
      if (setrlimit(linux.RLIMIT_NOFILE, limit) < 0) throw systemError(koffi.errno(), "setrlimit");
    },
    watchOpens(path) {
      const fd: number = inotifyInit(linux.IN_CLOEXEC | linux.IN_NONBLOCK);
      if (fd < 0) throw systemError(koffi.errno(), "inotify_init");
      if (inotifyAdd(fd, path, linux.IN_OPEN | linux.IN_DELETE_SELF) >= 0) return fd;
      const errno = koffi.errno();
      closeSync(fd);
      throw systemError(errno, `watch ${path}`);
    },
    seekToEnd(fd) {
      if (Number(lseek(fd, 0, linux.SEEK_END)) < 0) throw systemError(koffi.errno(), "lseek");
    },
    releasePages(address, length) {
      if (madvise(address, length, linux.MADV_DONTNEED) < 0) throw systemError(koffi.errno(), "madvise");
    },
  };
}

/** An error with the name of the errno as its code, like errors of Node.js: errnoOf() reads both. */
export function systemError(errno: number, operation: string): KubeletError {
  const [name, text] = getSystemErrorMap().get(-errno) ?? [`errno ${errno}`, `errno ${errno}`];
  return new KubeletError(name, `${operation}: ${text}`, { cause: errno });
}
