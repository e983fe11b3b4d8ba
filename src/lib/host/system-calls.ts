import { KubeletError } from "../base/errors.ts";
import { linux } from "../base/linux.ts";

/** System calls that Node.js has no function for. Loaded at first use: most commands never need them. */
export interface SystemCalls {
  /** Lazy: the mount leaves the tree immediately, and the filesystem when it is no longer in use. */
  unmount(path: string, lazy: boolean): void;
}

let loaded: Promise<SystemCalls> | undefined;

export function systemCalls(): Promise<SystemCalls> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<SystemCalls> {
  const { default: koffi } = await import("koffi");
  const libc = koffi.load(null); // the C library is already in the process
  const umount2 = libc.func("int umount2(const char *path, int flags)");
  const check = (result: number, operation: string) => {
    if (result >= 0) return;
    const errno = koffi.errno();
    throw new KubeletError("SystemCall", `${operation}: errno ${errno}`, { cause: errno });
  };
  return {
    unmount(path, lazy) {
      check(umount2(path, linux.UMOUNT_NOFOLLOW | (lazy ? linux.MNT_DETACH : 0)), `umount ${path}`);
    },
  };
}
