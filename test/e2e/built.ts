import { existsSync, globSync, statSync } from "node:fs";
import { join } from "node:path";
import { repoDir } from "./agent-process.ts";

export const launcherFile = join(repoDir, "bin/kubelet");
export const builtFile = join(repoDir, "dist/kubelet.cjs");

const changedAt = (file: string) => statSync(join(repoDir, file)).mtimeMs;

/** True if `dist` was built from the sources as they are now, otherwise the reason to skip a test that needs it. */
export const built: true | string =
  existsSync(builtFile) &&
  globSync("{src,scripts/lib}/**/*.{ts,mjs}", { cwd: repoDir })
    .filter((file) => !file.includes(".test."))
    .every((file) => changedAt(file) < changedAt("dist/kubelet.cjs"))
    ? true
    : "not built from these sources";
