import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../.cache/prometheus/usr/bin/promtool", import.meta.url));

/** True, or why promtool cannot be run. */
export const hasPromtool: true | string =
  existsSync(program) || "promtool of Debian is not unpacked: npm test does that, as root";

/** Runs promtool; input is its standard input. */
export function promtool(args: readonly string[], input = ""): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
}
