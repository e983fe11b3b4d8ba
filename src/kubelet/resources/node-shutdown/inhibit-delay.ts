import { join } from "node:path";
import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import { writeDurably } from "../../../lib/host/durable-file.ts";

export interface DelaySource {
  inhibitDelayMs(signal: AbortSignal): Promise<number>;
  reload(signal: AbortSignal): Promise<void>;
}

const fileName = "99-kubelet.conf";
/** logind reloads its configuration asynchronously: it is read again after each of these. */
const checksMs = [0, 100, 200, 400, 800] as const;

/**
 * Makes logind wait for locks at least this long, by a file in its configuration. Throws if logind keeps a shorter delay, for example because a
 * file of an administrator takes precedence.
 */
export async function raiseInhibitDelay(
  logind: DelaySource,
  o: { readonly ms: number; readonly confDir: string; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  await writeDurably(join(o.confDir, fileName), delayFile(o.ms), 0o644);
  await logind.reload(o.signal);
  let delayMs = 0;
  for (const waitMs of checksMs) {
    await sleep(o.clock, waitMs, o.signal);
    delayMs = await logind.inhibitDelayMs(o.signal);
    if (delayMs >= o.ms) return;
  }
  throw new KubeletError(
    "InhibitDelay",
    `logind still delays a shutdown by at most ${delayMs / 1000} s: another file may set InhibitDelayMaxSec`,
  );
}

function delayFile(ms: number): string {
  return `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${Math.round(ms / 1000)}\n`;
}
