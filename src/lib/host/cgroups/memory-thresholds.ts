import { closeSync, openSync, read, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { libc } from "../libc.ts";

/** A memory usage of a cgroup: the kernel notifies when the usage crosses it, in either direction. */
export interface MemoryThreshold {
  /** The directory of the cgroup in the memory hierarchy of cgroup v1. */
  readonly dir: string;
  readonly usageBytes: number;
}

/**
 * Registers thresholds with the kernel (cgroup v1 only: v2 has none). `notify` is called each time the usage crosses one of
 * them. Returns a function that removes them. Until then, a thread of the pool waits for the kernel.
 */
export async function notifyOnMemoryThresholds(
  thresholds: readonly MemoryThreshold[],
  notify: () => void,
): Promise<() => void> {
  const eventFd = (await libc()).eventfd();
  let isClosed = false;
  try {
    for (const { dir, usageBytes } of thresholds) register(eventFd, dir, usageBytes);
  } catch (error) {
    closeSync(eventFd);
    throw error;
  }
  const wait = () =>
    read(eventFd, Buffer.alloc(8), 0, 8, null, (error) => {
      // The kernel drops the thresholds when the descriptor is closed.
      if (isClosed || error) return closeSync(eventFd);
      notify();
      wait();
    });
  wait();
  return () => {
    if (isClosed) return;
    isClosed = true;
    const one = Buffer.alloc(8);
    one.writeBigUInt64LE(1n);
    // Wakes the pending read, which then closes the descriptor.
    writeSync(eventFd, one);
  };
}

function register(eventFd: number, dir: string, usageBytes: number): void {
  const usageFd = openSync(join(dir, "memory.usage_in_bytes"), "r");
  try {
    writeFileSync(
      join(dir, "cgroup.event_control"),
      `${eventFd} ${usageFd} ${Math.max(0, Math.round(usageBytes))}`,
    );
  } finally {
    closeSync(usageFd);
  }
}
