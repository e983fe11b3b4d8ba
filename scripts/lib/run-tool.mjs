import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { node24, root } from "./node-packages.mjs";

/**
 * Runs a program (a script with Node 24) in the project. Resolves with undefined, or with its output if it failed; with
 * `show`, its output is printed immediately.
 */
export function runTool(file, args, { show = false, env = {} } = {}) {
  const command = file === node24 ? [node24, ...args] : [node24, file, ...args];
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), {
      cwd: root,
      stdio: ["ignore", show ? "inherit" : "pipe", show ? "inherit" : "pipe"],
      // Tools that start "node" must use this one.
      env: { ...process.env, PATH: `${dirname(node24)}:${process.env.PATH}`, ...env },
    });
    const output = [];
    child.stdout?.on("data", (chunk) => output.push(chunk));
    child.stderr?.on("data", (chunk) => output.push(chunk));
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => {
      if (code === 0) resolve(undefined);
      else resolve(Buffer.concat(output).toString().trim() || `exited with ${code ?? signal}`);
    });
  });
}
