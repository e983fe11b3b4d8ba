// Loaded into the agent with --import: a wall clock that a test sets, and the size of the heap on request.
import { readFileSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const dir = process.env.PROCESS_HOOK_DIR;

if (dir !== undefined) {
  const SystemDate = Date;
  let offsetMs = 0;
  const read = () => {
    try {
      offsetMs = Number(readFileSync(`${dir}/offset-ms`, "utf8"));
    } catch {
      // Not set yet.
    }
  };
  read();
  setInterval(read, 100).unref();
  globalThis.Date = class extends SystemDate {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(SystemDate.now() + offsetMs);
      else super(...(args as [number]));
    }
    static override now(): number {
      return SystemDate.now() + offsetMs;
    }
  } as DateConstructor;

  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  process.on("SIGUSR2", () => {
    collectGarbage();
    writeFileSync(`${dir}/heap-bytes`, String(process.memoryUsage().heapUsed));
  });
}
