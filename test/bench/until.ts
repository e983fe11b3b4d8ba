import { setTimeout as pause } from "node:timers/promises";
import { preciseNow } from "./statistics.ts";

export const longestWaitMs = 600_000;

export async function until(what: string, isTrue: () => Promise<boolean>, everyMs = 250): Promise<void> {
  const deadline = preciseNow() + longestWaitMs;
  while (!(await isTrue())) {
    if (preciseNow() > deadline) throw new Error(`${what}: not within ${longestWaitMs / 1000} s`);
    await pause(everyMs);
  }
}
