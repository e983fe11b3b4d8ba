import { closeSync, constants, openSync, readSync } from "node:fs";
import { errnoOf } from "../base/errors.ts";
import { libc } from "./libc.ts";

export interface KernelMessage {
  readonly text: string;
  /** True if the kernel overwrote messages before this one that were not read yet. */
  readonly afterGap: boolean;
}

export interface KernelLog {
  /** The messages since the last call, or since the log was opened. Does not wait. */
  read(): KernelMessage[];
  close(): void;
}

/** The size of the buffer for one message. No message of the kernel is longer. */
const maxRecordBytes = 16_384;
/** A log that grows faster than it is read must not stop the agent: the rest is read next time. */
const maxPerRead = 5000;
const maxOverruns = 3;

/** A device with the records of the kernel log. */
export interface KernelLogDevice {
  /** One record. Fails with EAGAIN if there is none, and once with EPIPE if records were overwritten before they were read. */
  read(): string;
  close(): void;
}

/** The kernel log from now on; older messages are not read. Fails without CAP_SYSLOG, or if there is no such device. */
export async function openKernelLog(open = openKmsg): Promise<KernelLog> {
  const device = await open();
  let last: number | undefined;
  const message = (record: string): KernelMessage | undefined => {
    const parsed = parseRecord(record);
    if (!parsed) return undefined;
    const afterGap = last !== undefined && parsed.sequence !== last + 1;
    last = parsed.sequence;
    return { text: parsed.text, afterGap };
  };
  return {
    read: () => {
      const messages: KernelMessage[] = [];
      let overruns = 0;
      for (let i = 0; i < maxPerRead; i++) {
        try {
          const found = message(device.read());
          if (found) messages.push(found);
        } catch (error) {
          const code = errnoOf(error);
          if (code === "EAGAIN") break;
          if (code !== "EPIPE" || ++overruns > maxOverruns) throw error;
        }
      }
      return messages;
    },
    close: () => device.close(),
  };
}

async function openKmsg(): Promise<KernelLogDevice> {
  const { seekToEnd } = await libc();
  const fd = openSync("/dev/kmsg", constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    seekToEnd(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  const buffer = Buffer.alloc(maxRecordBytes);
  return {
    read: () => buffer.toString("utf8", 0, readSync(fd, buffer)),
    close: () => closeSync(fd),
  };
}

/** "6,339,5140900,-;text", then lines of key and value that begin with a space. */
function parseRecord(record: string): { sequence: number; text: string } | undefined {
  const [, sequence, text] = /^\d+,(\d+),[^;]*;([^\n]*)/.exec(record) ?? [];
  return sequence === undefined || text === undefined ? undefined : { sequence: Number(sequence), text };
}
