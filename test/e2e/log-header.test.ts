import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { repoDir } from "./agent-process.ts";
import { built, builtFile } from "./built.ts";
import { mainFile } from "./cli-process.ts";

const sources = globSync("src/**/*.ts", { cwd: repoDir });
const header = /^[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ ([^ /]+\.ts:\d+)\] "/;

/** True if a log call starts in that line of a file with that name. */
function isLogCall(place: string): boolean {
  const [file = "", line = ""] = place.split(":");
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
    return agent.log().trimEnd().split("\n");
  } finally {
    await agent.destroy();
  }
}

for (const [name, program, runs] of [
  ["from the sources", mainFile, true],
  ["from the bundle", builtFile, built],
] as const) {
  test(`each log line names file and line of its call, ${name}`, {
    skip: runs !== true && runs,
  }, async () => {
    const lines = await logOf(program, ["-v=4"]);
    const places = lines.map((line) => header.exec(line)?.[1]);
    assert.ok(lines.length > 5, lines.join("\n"));
    for (const [index, place] of places.entries()) assert.ok(place && isLogCall(place), lines[index]);
    assert.ok(new Set(places).size > 3, "one place for different lines");
  });

  test(`JSON lines have the caller with its directory, ${name}`, {
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
