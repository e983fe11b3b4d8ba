import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundleOptions } from "./bundle.mjs";
import { logSites } from "./log-sites.mjs";

const writer = fileURLToPath(new URL("../../src/lib/base/log-writer.ts", import.meta.url));

/** Each call has the number of its line as its message. */
const source = `import { createLogger } from ${JSON.stringify(writer)};
interface Options { readonly level: "info" | "error" }
const write = (line: string) => process.stdout.write(line);
const logger = createLogger({ format: "text", verbosity: 2, write, now: () => new Date(0), pid: 1 });
logger.info("5");
class Part {
  readonly #logger = logger;
  log({ level }: Options): void {
    this.#logger[level]("9");
    this.#logger.with({ a: 1 }).warn(
      "10",
    );
    if (level === "info") this.#logger.debug(2, "13"); else this.#logger.debug(1, "no");
  }
}
new Part().log({ level: "info" }); logger.error("16"); Promise.resolve().then(() => logger.info("16"));
const chosen = (isError: boolean) => (isError ? logger.error : logger.info).bind(logger);
const text = "18"; chosen(true)(text);
if (true) chosen(
  true,
)("21", { a: 1 });
`;

for (const lineLimit of [bundleOptions().lineLimit, 1])
  test(`log lines of a bundle with the line limit ${lineLimit} name the source line of the call`, async () => {
    const dir = mkdtempSync(join(tmpdir(), "log-sites-"));
    try {
      mkdirSync(join(dir, "src/part"), { recursive: true });
      writeFileSync(join(dir, "src/part/main.ts"), source);
      const { build } = await import("esbuild");
      const outfile = join(dir, "dist/main.cjs");
      await build({
        ...bundleOptions(),
        entryPoints: { main: "src/part/main.ts" },
        lineLimit,
        absWorkingDir: dir,
      });
      const sites = logSites(readFileSync(outfile, "utf8"), readFileSync(`${outfile}.map`, "utf8"));
      writeFileSync(join(dir, "dist/main.log-sites.json"), JSON.stringify(sites));
      const lines = execFileSync(process.execPath, [outfile], { encoding: "utf8" }).trimEnd().split("\n");
      const places = lines.map((line) => /(\S+)\] "(\d+)"/.exec(line)?.slice(1));
      assert.deepEqual(
        places,
        ["5", "9", "10", "13", "16", "18", "21", "16"].map((line) => [`main.ts:${line}`, line]),
      );
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
