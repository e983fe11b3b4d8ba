import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";

test("a process writes all of its output to a pipe before it exits", async () => {
  const module = new URL("./exit-when-written.ts", import.meta.url).href;
  const program = `
    import { exitWhenWritten } from ${JSON.stringify(module)};
    setInterval(() => {}, 60_000);
    process.stdout.write("x".repeat(1_000_000));
    exitWhenWritten(3);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  assert.deepEqual([output.length, code], [1_000_000, 3]);
});
