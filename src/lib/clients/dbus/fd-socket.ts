import { getSystemErrorMap } from "node:util";
import { KubeletError } from "../../base/errors.ts";
import { layout, linux } from "../../base/linux.ts";

/** The path ends with a NUL. */
const maxPathLength =
  layout["sizeof(struct sockaddr_un)"] - layout["offsetof(struct sockaddr_un, sun_path)"] - 1;
const maxBytes = 65_536;
/** Comes before the descriptors. */
const controlHeader = layout["sizeof(struct cmsghdr)"];
const maxFds = 16;

export interface Received {
  readonly bytes: Buffer;
  /** Owned by the caller. */
  readonly fds: readonly number[];
}

/** A unix socket that receives file descriptors, which the sockets of Node.js discard. No call of it waits. */
export interface FdSocket {
  /** The number of bytes that were sent; 0 if the peer has to read first. */
  send(bytes: Buffer): number;
  /** Undefined if there is nothing to receive yet; without bytes, the peer has closed the connection. */
  receive(): Received | undefined;
  close(): void;
}

/** Loaded at first use: most commands never need it. Throws if the socket cannot be connected, with the name of the errno as code. */
export async function openFdSocket(path: string): Promise<FdSocket> {
  const name = Buffer.from(path);
  if (name.length > maxPathLength) throw new KubeletError("ENAMETOOLONG", `socket path is too long: ${path}`);
  const { default: koffi } = await import("koffi");
  const libc = koffi.load(null);
  const connect = libc.func("int connect(int fd, const void *address, uint32 length)");
  const sendTo = libc.func("int64 send(int fd, const void *data, size_t size, int flags)");
  const recvmsg = libc.func("int64 recvmsg(int fd, void *message, int flags)");
  const closeFd = libc.func("int close(int fd)");
  const addressOf = (buffer: Buffer) => koffi.address(buffer) as bigint;
  const fail = (operation: string) => {
    const errno = koffi.errno();
    const [code, text] = getSystemErrorMap().get(-errno) ?? [`errno ${errno}`, `errno ${errno}`];
    return new KubeletError(code, `${operation} ${path}: ${text}`, { cause: errno });
  };
  const wouldBlock = () => koffi.errno() === koffi.os.errno.EAGAIN;

  const fd = libc.func("int socket(int domain, int type, int protocol)")(
    ...[linux.AF_UNIX, linux.SOCK_STREAM | linux.SOCK_CLOEXEC | linux.SOCK_NONBLOCK, 0],
  ) as number;
  if (fd < 0) throw fail("socket");
  const family = Buffer.alloc(layout["offsetof(struct sockaddr_un, sun_path)"]);
  family.writeUInt16LE(linux.AF_UNIX);
  const address = Buffer.concat([family, name, Buffer.alloc(1)]);
  if ((connect(fd, address, address.length) as number) < 0) {
    const error = fail("connect");
    closeFd(fd);
    throw error;
  }
  let isOpen = true;
  return {
    send(bytes) {
      const sent = Number(sendTo(fd, bytes, bytes.length, linux.MSG_NOSIGNAL));
      if (sent >= 0) return sent;
      if (wouldBlock()) return 0;
      throw fail("send");
    },
    receive() {
      const data = Buffer.alloc(maxBytes);
      const control = Buffer.alloc(controlHeader + 4 * maxFds);
      const vector = Buffer.alloc(layout["sizeof(struct iovec)"]);
      vector.writeBigUInt64LE(addressOf(data), 0);
      vector.writeBigUInt64LE(BigInt(data.length), layout["offsetof(struct iovec, iov_len)"]);
      const message = Buffer.alloc(layout["sizeof(struct msghdr)"]);
      message.writeBigUInt64LE(addressOf(vector), layout["offsetof(struct msghdr, msg_iov)"]);
      message.writeBigUInt64LE(1n, layout["offsetof(struct msghdr, msg_iovlen)"]);
      message.writeBigUInt64LE(addressOf(control), layout["offsetof(struct msghdr, msg_control)"]);
      message.writeBigUInt64LE(BigInt(control.length), layout["offsetof(struct msghdr, msg_controllen)"]);
      const size = Number(recvmsg(fd, message, linux.MSG_CMSG_CLOEXEC));
      if (size < 0) {
        if (wouldBlock()) return undefined;
        throw fail("recvmsg");
      }
      const used = control.subarray(
        0,
        Number(message.readBigUInt64LE(layout["offsetof(struct msghdr, msg_controllen)"])),
      );
      return { bytes: data.subarray(0, size), fds: descriptorsIn(used) };
    },
    close() {
      if (isOpen) closeFd(fd);
      isOpen = false;
    },
  };
}

/** D-Bus sends all descriptors of a message in one control message. */
function descriptorsIn(control: Buffer): number[] {
  if (control.length < controlHeader) return [];
  const end = Math.min(Number(control.readBigUInt64LE(0)), control.length);
  if (
    control.readInt32LE(layout["offsetof(struct cmsghdr, cmsg_level)"]) !== linux.SOL_SOCKET ||
    control.readInt32LE(layout["offsetof(struct cmsghdr, cmsg_type)"]) !== linux.SCM_RIGHTS
  )
    return [];
  const fds: number[] = [];
  for (let at = controlHeader; at + 4 <= end; at += 4) fds.push(control.readInt32LE(at));
  return fds;
}
