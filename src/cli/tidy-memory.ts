import { flushCompileCache } from "node:module";
import type { Clock } from "../lib/base/clock.ts";
import { messageOf } from "../lib/base/errors.ts";
import type { Logger } from "../lib/base/logger.ts";
import { releaseProgramPages } from "../lib/host/program-pages.ts";

/** By then, pods that ran before a restart have been taken over. */
const firstMs = 10_000;
/** Pages in use are faulted in again within milliseconds of CPU time. */
const everyMs = 10 * 60_000;

/**
 * Releases what only startup and rare work need: pages of code, periodically. Also writes the compile cache: an agent that is killed
 * does not, and one that stops after months no longer has the compiled code of its startup. Returns the function that ends it.
 */
export function tidyMemory(clock: Clock, logger: Logger): () => void {
  let stopped = false;
  const tidy = async () => {
    flushCompileCache();
    await releaseProgramPages().catch((error: unknown) =>
      logger.debug(2, "Failed to release memory pages", { err: messageOf(error) }),
    );
    if (!stopped) cancel = clock.after(everyMs, () => void tidy());
  };
  let cancel = clock.after(firstMs, () => void tidy());
  return () => {
    stopped = true;
    cancel();
  };
}
