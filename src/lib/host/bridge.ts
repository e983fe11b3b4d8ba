import { createHash } from "node:crypto";
import { errnoOf, KubeletError } from "../base/errors.ts";
import { linux } from "../base/linux.ts";
import { systemError } from "./libc.ts";
import {
  addAddressRequest,
  createBridgeRequest,
  deleteLinkRequest,
  encodeRequest,
  errnoOfReply,
  type NetlinkRequest,
} from "./netlink.ts";

export interface Bridge {
  readonly name: string;
  /** "10.64.0.1/24"; the kernel lists them in this order. */
  readonly addresses: readonly string[];
}

/** Creates a bridge that is up and has these addresses. The name must be free. */
export async function makeBridge({ name, addresses }: Bridge): Promise<void> {
  const kernel = await openNetlink();
  try {
    kernel.request(createBridgeRequest(name, hardwareAddress(name)), `make bridge ${name}`);
    const link = kernel.indexOf(name);
    for (const address of addresses)
      kernel.request(addAddressRequest(link, address), `add ${address} to bridge ${name}`);
  } finally {
    kernel.close();
  }
}

/** Removes links by name; those that do not exist are ignored. */
export async function removeLinks(names: readonly string[]): Promise<void> {
  const kernel = await openNetlink();
  try {
    for (const name of names) {
      try {
        kernel.request(deleteLinkRequest(kernel.indexOf(name)), `remove link ${name}`);
      } catch (error) {
        if (errnoOf(error) !== "ENODEV") throw error;
      }
    }
  } finally {
    kernel.close();
  }
}

/**
 * Without one, a bridge uses the lowest address of its ports, which changes as pods are added and removed:
 * other pods would not reach it until the next ARP request. This one is from the locally administered range.
 */
function hardwareAddress(name: string): Uint8Array {
  return Uint8Array.of(0x02, ...createHash("sha256").update(name).digest().subarray(0, 5));
}

async function openNetlink() {
  const { default: koffi } = await import("koffi");
  const libc = koffi.load(null);
  const socket = libc.func("int socket(int domain, int type, int protocol)");
  const send = libc.func("long send(int fd, void *data, size_t size, int flags)");
  const receive = libc.func("long recv(int fd, void *data, size_t size, int flags)");
  const nameToIndex = libc.func("unsigned int if_nametoindex(const char *name)");
  const close = libc.func("int close(int fd)");
  const checked = (result: number, operation: string): number => {
    if (result < 0) throw systemError(koffi.errno(), operation);
    return result;
  };
  const fd = checked(
    socket(linux.AF_NETLINK, linux.SOCK_RAW | linux.SOCK_CLOEXEC, 0),
    "open a netlink socket",
  );
  let sequence = 0;
  return {
    request(request: NetlinkRequest, operation: string): void {
      const message = encodeRequest(request, ++sequence);
      checked(Number(send(fd, message, message.length, 0)), operation);
      const reply = Buffer.alloc(8192);
      // The kernel has processed the request and responded before send returns.
      const length = checked(Number(receive(fd, reply, reply.length, linux.MSG_DONTWAIT)), operation);
      const errno = errnoOfReply(reply.subarray(0, length));
      if (errno === undefined) throw new KubeletError("Netlink", `${operation}: unexpected netlink reply`);
      if (errno !== 0) throw systemError(errno, operation);
    },
    indexOf(name: string): number {
      const index: number = nameToIndex(name);
      if (index === 0) throw systemError(koffi.errno(), `find link ${name}`);
      return index;
    },
    close: () => void close(fd),
  };
}
