import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

// parity: field maxOpenFiles, flag max-open-files
test("the limit of maxOpenFiles is that of the process and of the programs that it starts", () => {
  const script = `
    const { setOpenFileLimit } = await import(${JSON.stringify(new URL("open-file-limit.ts", import.meta.url).href)});
    await setOpenFileLimit(12345);
    const { execFileSync } = await import("node:child_process");
    process.stdout.write(execFileSync("sh", ["-c", "ulimit -Sn; ulimit -Hn"], { encoding: "utf8" }));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.equal(printed, "12345\n12345\n");
});
