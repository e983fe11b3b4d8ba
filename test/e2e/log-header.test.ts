import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { repoDir } from "./agent-process.ts";
import { built, builtFile } from "./built.ts";
import { logLines } from "./log-lines.ts";

const sources = globSync("src/**/*.ts", { cwd: repoDir });
const header = /^[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ ([^ /]+\.ts:\d+)\] "/;

/** True if a log call starts in that line of a file with that name. */
function isLogCall(position: string): boolean {
  const [file = "", line = ""] = position.split(":");
  return sources
    .filter((source) => `/${source}`.endsWith(`/${file}`))
    .some((source) =>
      /\.(info|warn|error|debug)\(/.test(
        readFileSync(join(repoDir, source), "utf8").split("\n")[Number(line) - 1] ?? "",
      ),
    );
}

async function logOf(program: string, flags: readonly string[]): Promise<string[]> {
  const agent = await StandaloneAgent.create();
  try {
    agent.start(flags, program);
    await agent.ready();
    await agent.end("SIGTERM");
    return logLines(agent.log());
  } finally {
    await agent.destroy();
  }
}

for (const [name, program, runs] of [
  ["the sources", join(repoDir, "src/cli/main.ts"), true],
  ["the bundle", builtFile, built],
] as const) {
  test(`every log line of ${name} names the file and line of its log call`, {
    skip: runs !== true && runs,
  }, async () => {
    const lines = await logOf(program, ["-v=4"]);
    const positions = lines.map((line) => header.exec(line)?.[1]);
    assert.ok(lines.length > 5, lines.join("\n"));
    for (const [index, position] of positions.entries())
      assert.ok(position && isLogCall(position), lines[index]);
    assert.ok(new Set(positions).size > 3, "log calls of different lines report the same position");
  });

  test(`every JSON log line of ${name} has a caller field with directory, file and line`, {
    skip: runs !== true && runs,
  }, async () => {
    const lines = await logOf(program, ["--logging-format=json"]);
    assert.ok(lines.length > 3, lines.join("\n"));
    for (const line of lines) {
      const { caller } = JSON.parse(line) as { caller: string };
      assert.ok(/^[^/]+\/[^/]+\.ts:\d+$/.test(caller) && isLogCall(caller), line);
    }
  });
}
