import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory as the build creates it. For tests; the caller removes it. */
export function fakePage(): string {
  const dir = mkdtempSync(join(tmpdir(), "console-page-"));
  mkdirSync(join(dir, "assets"));
  writeFileSync(join(dir, "index.html"), "<!doctype html><title>console</title>");
  writeFileSync(join(dir, "assets/main-1a2b3c4d.js"), "export {};");
  writeFileSync(join(dir, "assets/main-1a2b3c4d.js.br"), "compressed");
  return dir;
}
