/**
 * A hostile container that has a volume open, even after its pod was deleted: as fast as it can, it swaps directories of the volume
 * for symlinks that lead out of it, and back. Runs in a separate process, so that it races with the test.
 */
import { renameSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";

const [volume = "", outside = "", ...names] = process.argv.slice(2);

function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // Removed in the meantime, or not created yet.
  }
}

process.send?.("started");
for (;;) {
  for (const name of names) {
    const path = join(volume, name);
    attempt(() => {
      renameSync(path, `${path}.dir`);
      symlinkSync(outside, path);
    });
    attempt(() => {
      unlinkSync(path);
      renameSync(`${path}.dir`, path);
    });
  }
}
