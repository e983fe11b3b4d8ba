import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { print, reportProgress, seconds } from "./print.mjs";

/** The limit for other package managers: a fresh machine often updates itself for some minutes. */
const lockLimitMs = 10 * 60_000;

/**
 * Runs apt-get, shows how far it is, and waits while another package manager is at work. Resolves with undefined, or with the last lines of its output if it
 * failed.
 */
export async function aptGet(args, { what, limitMs = lockLimitMs, retryMs = 1000, printLine = print } = {}) {
  const started = Date.now();
  let waiting;
  try {
    for (;;) {
      const problem = await runAptGet(args, what, printLine);
      const lock = problem && heldLock(problem);
      if (!lock) return problem;
      if (Date.now() - started > limitMs)
        return `Another package manager is still at work after ${seconds(started)}: ${lock}. Try again when it is done.`;
      if (!waiting) {
        printLine(`  waiting until another package manager is done: ${lock}`);
        waiting = reportProgress("waiting for the other package manager", {
          howMuch: () => `at most ${Math.round(limitMs / 60_000)} min`,
          everyMs: 10_000,
          printLine,
        });
      }
      await sleep(retryMs);
    }
  } finally {
    waiting?.();
  }
}

/** The lock that apt-get could not get and the process that holds it, if that is why it failed. */
export function heldLock(output) {
  const match = /Could not get lock (\S+?)\.?(?: It is held by process (\d+) \((.*?)\))?(?:\s|$)/.exec(
    output,
  );
  if (!match) return undefined;
  const [, file, pid, name] = match;
  return pid ? `${name} (process ${pid}) holds ${file}` : `${file} is locked`;
}

async function runAptGet(args, what, printLine) {
  const child = spawn("apt-get", ["-o", "APT::Status-Fd=3", ...args], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" },
  });
  let status = "";
  const end = what && reportProgress(what, { howMuch: () => status, printLine });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  createInterface({ input: child.stdio[3] }).on("line", (line) => {
    status = aptProgress(line) ?? status;
  });
  try {
    return await new Promise((resolve) => {
      child.on("error", (error) => resolve(String(error)));
      child.on("close", (code, signal) => {
        if (code === 0) return resolve(undefined);
        const last = Buffer.concat(output).toString().trim().split("\n").slice(-8).join("\n");
        resolve(last || `apt-get exited with ${code ?? signal}`);
      });
    });
  } finally {
    end?.();
  }
}

/** Parses "dlstatus:1:20.5:Retrieving file 1 of 5" or "pmstatus:containerd:40.0:Unpacking containerd". */
export function aptProgress(line) {
  const match = /^(dl|pm)status:.*?:([\d.]+):(.*)$/.exec(line);
  if (!match) return undefined;
  const [, kind, percent, action] = match;
  return kind === "dl" ? `downloaded ${Math.floor(percent)} %` : `${Math.floor(percent)} %, ${action}`;
}
