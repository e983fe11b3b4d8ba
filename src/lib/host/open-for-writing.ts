import koffi from "koffi";

const setSignal = 10; // F_SETSIG
const setLease = 1024; // F_SETLEASE
const readLease = 0; // F_RDLCK
const noLease = 2; // F_UNLCK
const urgent = 23; // SIGURG

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
  if (fcntl(fd, setSignal, urgent) !== 0) return undefined;
  if (fcntl(fd, setLease, readLease) !== 0) return koffi.errno() === koffi.os.errno.EAGAIN ? true : undefined;
  fcntl(fd, setLease, noLease);
  return false;
}
