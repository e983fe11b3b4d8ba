import { readdirSync } from "node:fs";
import { setImmediate } from "node:timers/promises";

/** How many more file descriptors this process has open during the work, at most. */
export async function descriptorsDuring(work: () => Promise<unknown>): Promise<number> {
  const open = () => readdirSync("/proc/self/fd").length;
  const before = open();
  let most = before;
  let isDone = false;
  const done = work().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    most = Math.max(most, open());
    await setImmediate();
  }
  await done;
  return most - before;
}
