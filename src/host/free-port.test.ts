import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { rememberedPort } from "./free-port.ts";

test("the port of the last time, or the usual one, or any that is free", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "free-port-"));
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    taken.close();
    rmSync(dir, { recursive: true });
  });
  const busy = (taken.address() as { port: number }).port;
  const file = join(dir, "port");
  const first = await rememberedPort(file, "127.0.0.1", busy);
  assert.notEqual(first, busy);
  assert.equal(readFileSync(file, "utf8"), `${first}\n`);
  assert.equal(await rememberedPort(file, "127.0.0.1", busy), first);
  writeFileSync(file, "what?");
  assert.notEqual(await rememberedPort(file, "127.0.0.1", busy), busy);
});
