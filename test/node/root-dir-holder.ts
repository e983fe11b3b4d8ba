import { once } from "node:events";
import { join } from "node:path";
import { RootDirLock } from "../../src/kubelet/agent/root-dir-lock.ts";
import { LocalApi } from "../../src/kubelet/server/local-api.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { messageOf } from "../../src/lib/base/errors.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";

// The part of the agent that holds the root directory, and nothing else: light enough to be started many times.
const [rootDir = ""] = process.argv.slice(2);
process.stdout.write("ready\n");
await once(process.stdin, "data");
const overview = {
  rows: () => [{ pid: process.pid }],
  runtime: () => ({ ok: true }) as const,
  onChange: () => () => {},
};
const localApi = new LocalApi({
  socketPath: join(rootDir, "kubelet.sock"),
  overview,
  logger: silentLogger,
  explainer: { explain: () => undefined },
});
const lock = new RootDirLock({ rootDir, clock: systemClock, logger: silentLogger, waitMs: 0 });
try {
  await lock.start(new AbortController().signal);
  await localApi.start(new AbortController().signal);
  process.stdout.write("running\n");
} catch (error) {
  process.stdout.write(`${messageOf(error)}\n`);
  process.exit(1);
}
