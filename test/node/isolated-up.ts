// Runs on an isolated host: runs what `npm start` runs until the demo pod runs, sends the signal, and reports what remains.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "../../src/lib/base/clock.ts";
import { type Leak, leaks, snapshot } from "./leaks.ts";

export interface UpReport {
  readonly ran: Leak[];
  readonly left: Leak[];
  readonly status: number | null;
  readonly output: string;
}

const start = fileURLToPath(new URL("../../scripts/start.mjs", import.meta.url));
const before = snapshot();
const up = spawn(process.execPath, [start], { stdio: ["ignore", "pipe", "pipe"] });
let output = "";
up.stdout.on("data", (chunk) => {
  output += chunk;
});
up.stderr.on("data", (chunk) => {
  output += chunk;
});
const exited = once(up, "exit");
const deadline = Date.now() + 60_000;
while (!/Running.* 1\/1/.test(output) && up.exitCode === null && Date.now() < deadline)
  await sleep(systemClock, 20);
const ran = leaks(before, snapshot());
up.kill(process.argv[2] as NodeJS.Signals);
const [status] = await exited;
const report: UpReport = { ran, left: leaks(before, snapshot()), status, output };
process.stdout.write(JSON.stringify(report));
