import { getSystemErrorMap } from "node:util";
import { KubeletError } from "../../base/errors.ts";

const afUnix = 1; // AF_UNIX
const streamCloexecNonBlocking = 1 | 0o2000000 | 0o4000;
/** struct sockaddr_un: two bytes of family, 108 of path. */
const maxPathLength = 107;
const noSignal = 0x4000; // MSG_NOSIGNAL
const closeOnExec = 0x40000000; // MSG_CMSG_CLOEXEC
const maxBytes = 65_536;
/** struct cmsghdr, before the descriptors: length, level, type. */
const controlHeader = 16;
const maxFds = 16;
const solSocket = 1; // SOL_SOCKET
const scmRights = 1; // SCM_RIGHTS

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
    ...[afUnix, streamCloexecNonBlocking, 0],
  ) as number;
  if (fd < 0) throw fail("socket");
  const family = Buffer.alloc(2);
  family.writeUInt16LE(afUnix);
  const address = Buffer.concat([family, name, Buffer.alloc(1)]);
  if ((connect(fd, address, address.length) as number) < 0) {
    const error = fail("connect");
    closeFd(fd);
    throw error;
  }
  let isOpen = true;
  return {
    send(bytes) {
      const sent = Number(sendTo(fd, bytes, bytes.length, noSignal));
      if (sent >= 0) return sent;
      if (wouldBlock()) return 0;
      throw fail("send");
    },
    receive() {
      const data = Buffer.alloc(maxBytes);
      const control = Buffer.alloc(controlHeader + 4 * maxFds);
      const vector = Buffer.alloc(16); // struct iovec
      vector.writeBigUInt64LE(addressOf(data), 0);
      vector.writeBigUInt64LE(BigInt(data.length), 8);
      const message = Buffer.alloc(56); // struct msghdr
      message.writeBigUInt64LE(addressOf(vector), 16);
      message.writeBigUInt64LE(1n, 24);
      message.writeBigUInt64LE(addressOf(control), 32);
      message.writeBigUInt64LE(BigInt(control.length), 40);
      const size = Number(recvmsg(fd, message, closeOnExec));
      if (size < 0) {
        if (wouldBlock()) return undefined;
        throw fail("recvmsg");
      }
      const used = control.subarray(0, Number(message.readBigUInt64LE(40)));
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
  if (control.readInt32LE(8) !== solSocket || control.readInt32LE(12) !== scmRights) return [];
  const fds: number[] = [];
  for (let at = controlHeader; at + 4 <= end; at += 4) fds.push(control.readInt32LE(at));
  return fds;
}
