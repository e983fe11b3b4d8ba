import { constants } from "node:os";
import koffi from "koffi";
import { linux } from "../base/linux.ts";

type Fcntl = (fd: number, command: number, argument: number) => number;
let fcntl: Fcntl | undefined;

/**
 * Whether any process has this file open for writing. The kernel grants a read lease on a file only if none has: we
 * request one, and release it immediately. Undefined where the filesystem has no leases.
 */
export function isOpenForWriting(fd: number): boolean | undefined {
  fcntl ??= koffi.load(null).func("int fcntl(int fd, int command, int argument)") as Fcntl;
  // A writer between the two calls makes the kernel send a signal: one that is ignored by default, since
  // the default SIGIO would kill the process.
  if (fcntl(fd, linux.F_SETSIG, constants.signals.SIGURG) !== 0) return undefined;
  if (fcntl(fd, linux.F_SETLEASE, linux.F_RDLCK) !== 0)
    return koffi.errno() === koffi.os.errno.EAGAIN ? true : undefined;
  fcntl(fd, linux.F_SETLEASE, linux.F_UNLCK);
  return false;
}
