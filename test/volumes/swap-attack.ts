/**
 * A hostile container: as fast as it can, it swaps directories of a volume for symlinks that lead out of it, and back. Runs in a separate
 * process, so that it races with the test.
 */
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const [volume = "", outside = ""] = process.argv.slice(2);

/** The test creates directories in the meantime: a step that fails because of it is retried in the next round. */
function attempt(...steps: (() => void)[]): boolean {
  try {
    for (const step of steps) step();
    return true;
  } catch {
    return false;
  }
}

const removeAll = (path: string) => rmSync(path, { recursive: true, force: true });

function swap(name: string, target: string): void {
  const path = join(volume, name);
  const link = `${path}.link`;
  const dir = `${path}.dir`;
  const isSwapped = attempt(
    () => rmSync(link, { force: true }),
    () => symlinkSync(target, link),
    () => renameSync(path, dir),
    () => renameSync(link, path),
    () => rmSync(path, { force: true }),
    () => renameSync(dir, path),
  );
  if (isSwapped) return;
  attempt(() => removeAll(path));
  attempt(() => removeAll(dir));
  attempt(() => mkdirSync(join(path, "deep/part"), { recursive: true }));
}

process.send?.("started");
for (let round = 0; ; round++) {
  swap("a", outside);
  swap("a/deep", round % 2 === 0 ? outside : "../../../..");
  swap("b", `../${round % 3 === 0 ? ".." : "outside"}`);
  // A subPath that does not exist, and has to be created.
  attempt(() => removeAll(join(volume, "b/created")));
}
