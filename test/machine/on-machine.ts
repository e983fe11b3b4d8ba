import { describe } from "node:test";
import { long } from "../long.ts";

/**
 * A suite for `npm run test:all`. Like the other tests with containers, it is skipped without root; with root, but without a machine image,
 * its tests fail with the reason.
 */
export function describeOnMachine(title: string, suite: () => void): void {
  const skip = process.getuid?.() === 0 ? false : "needs root";
  describe(long(`${title} (machine)`), { skip }, suite);
}
