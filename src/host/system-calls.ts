import { KubeletError } from "../base/errors.ts";

/** System calls that Node has no function for. Loaded at first use: most commands never need them. */
export interface SystemCalls {
  /** Lazy: the mount leaves the tree at once, and the file system when nobody uses it any more. */
  unmount(path: string, lazy: boolean): void;
  /** Takes a bridge down and away; true if there was one. */
  removeBridge(name: string): boolean;
}

const mntDetach = 2;
const umountNoFollow = 8;
const afInet = 2;
const sockDgram = 2;
const siocSetInterfaceFlags = 0x8914;
const siocRemoveBridge = 0x89a1;
const enodev = 19;
const enxio = 6;

let loaded: Promise<SystemCalls> | undefined;

export function systemCalls(): Promise<SystemCalls> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<SystemCalls> {
  const { default: koffi } = await import("koffi");
  const libc = koffi.load(null); // the C library is already in the process
  const umount2 = libc.func("int umount2(const char *path, int flags)");
  const socket = libc.func("int socket(int domain, int type, int protocol)");
  const ioctl = libc.func("int ioctl(int fd, unsigned long request, void *argument)");
  const close = libc.func("int close(int fd)");
  const check = (result: number, what: string) => {
    if (result >= 0) return;
    const errno = koffi.errno();
    throw new KubeletError("SystemCall", `${what}: errno ${errno}`, { cause: errno });
  };
  return {
    unmount(path, lazy) {
      check(umount2(path, umountNoFollow | (lazy ? mntDetach : 0)), `umount ${path}`);
    },
    removeBridge(name) {
      const fd: number = socket(afInet, sockDgram, 0);
      check(fd, "socket");
      try {
        const request = Buffer.alloc(40); // struct ifreq: the name, then flags 0, which is "down"
        request.write(name, "latin1");
        if (ioctl(fd, siocSetInterfaceFlags, request) < 0 && koffi.errno() === enodev) return false;
        const zeroEnded = Buffer.from(`${name}\0`, "latin1");
        const result: number = ioctl(fd, siocRemoveBridge, zeroEnded);
        if (result < 0 && koffi.errno() === enxio) return false;
        check(result, `remove bridge ${name}`);
        return true;
      } finally {
        close(fd);
      }
    },
  };
}
