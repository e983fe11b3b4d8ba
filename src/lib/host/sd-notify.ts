import koffi from "koffi";
import { KubeletError } from "../base/errors.ts";
import { layout, linux } from "../base/linux.ts";
import type { Logger } from "../base/logger.ts";

const minWatchdogMs = 1000;
/** The path ends with a NUL. */
const maxPathLength =
  layout["sizeof(struct sockaddr_un)"] - layout["offsetof(struct sockaddr_un, sun_path)"] - 1;

type SendDatagram = (path: string, message: string) => void;

/** Node.js has no datagram sockets of the unix family, so libc is called. */
function datagramSender(): SendDatagram {
  const libc = koffi.load(null);
  const socket = libc.func("int socket(int domain, int type, int protocol)");
  const sendto = libc.func(
    "int64 sendto(int fd, const void *data, size_t size, int flags, const void *to, uint32 length)",
  );
  const close = libc.func("int close(int fd)");
  return (path, message) => {
    const name = Buffer.from(path);
    if (name.length > maxPathLength) throw new Error(`socket path is too long: ${path}`);
    if (name[0] === 0x40) name[0] = 0; // "@x" is the abstract socket "\0x"
    const family = Buffer.alloc(layout["offsetof(struct sockaddr_un, sun_path)"]);
    family.writeUInt16LE(linux.AF_UNIX);
    const to = Buffer.concat([family, name]);
    const data = Buffer.from(message);
    const fd = socket(linux.AF_UNIX, linux.SOCK_DGRAM | linux.SOCK_CLOEXEC, 0) as number;
    if (fd < 0) throw new Error("socket() failed");
    try {
      if ((sendto(fd, data, data.length, 0, to, to.length) as number) < 0)
        throw new Error(`sendto(${path}) failed`);
    } finally {
      close(fd);
    }
  };
}

export interface ServiceManager {
  ready(): void;
  stopping(): void;
  alive(): void;
  /** The watchdog interval, if there is a watchdog. */
  watchdogMs: number | undefined;
}

const noServiceManager: ServiceManager = { ready() {}, stopping() {}, alive() {}, watchdogMs: undefined };

/** Notifies the service manager (systemd) of the agent's state, if NOTIFY_SOCKET is set. */
export function serviceManager(env: NodeJS.ProcessEnv, pid: number, logger: Logger): ServiceManager {
  const path = env.NOTIFY_SOCKET;
  if (!path) return noServiceManager;
  let send: SendDatagram;
  try {
    send = datagramSender();
  } catch (error) {
    logger.warn("Failed to open sd_notify socket", { err: String(error) });
    return noServiceManager;
  }
  const notify = (message: string) => {
    try {
      send(path, message);
    } catch (error) {
      logger.debug(2, "Failed to send sd_notify message", { err: String(error) });
    }
  };
  return {
    ready: () => notify("READY=1"),
    stopping: () => notify("STOPPING=1"),
    alive: () => notify("WATCHDOG=1"),
    watchdogMs: watchdogMs(env, pid),
  };
}

/** Like the reference kubelet, the agent does not start with implausible watchdog settings. */
function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv, pid: number): number | undefined {
  if (!WATCHDOG_USEC) return undefined;
  if (!/^[+-]?\d+$/.test(WATCHDOG_USEC) || Number(WATCHDOG_USEC) <= 0)
    throw new KubeletError(
      "Watchdog",
      `WATCHDOG_USEC: ${JSON.stringify(WATCHDOG_USEC)} is not a positive number`,
    );
  if (WATCHDOG_PID && !/^[+-]?\d+$/.test(WATCHDOG_PID))
    throw new KubeletError("Watchdog", `WATCHDOG_PID: ${JSON.stringify(WATCHDOG_PID)} is not a number`);
  if (WATCHDOG_PID && Number(WATCHDOG_PID) !== pid) return undefined;
  const ms = Number(WATCHDOG_USEC) / 1000;
  if (ms <= minWatchdogMs)
    throw new KubeletError("Watchdog", `WATCHDOG_USEC: configure watchdog timeout too small: ${ms}ms`);
  return ms;
}
