/**
 * What a hostile container does: as fast as it can, it replaces folders of a volume by links that lead out of it, and back. Run as a
 * process of its own, so that it races with the test.
 */
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const [volume = "", outside = ""] = process.argv.slice(2);

/** Whoever mounts makes folders meanwhile: what fails for it is tried again with the next turn. */
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
  const folder = `${path}.folder`;
  const isSwapped = attempt(
    () => rmSync(link, { force: true }),
    () => symlinkSync(target, link),
    () => renameSync(path, folder),
    () => renameSync(link, path),
    () => rmSync(path, { force: true }),
    () => renameSync(folder, path),
  );
  if (isSwapped) return;
  attempt(() => removeAll(path));
  attempt(() => removeAll(folder));
  attempt(() => mkdirSync(join(path, "deep/part"), { recursive: true }));
}

process.send?.("begun");
for (let turn = 0; ; turn++) {
  swap("a", outside);
  swap("a/deep", turn % 2 === 0 ? outside : "../../../..");
  swap("b", `../${turn % 3 === 0 ? ".." : "outside"}`);
  // The part that does not exist yet, and so has to be made.
  attempt(() => removeAll(join(volume, "b/made")));
}
