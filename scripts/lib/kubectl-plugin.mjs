import { lstatSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { root } from "./node-packages.mjs";
import { print } from "./print.mjs";

/** Makes `kubectl why` available, and its completions. Files that others installed under these names stay. */
export function linkKubectlPlugin({
  dir = "/usr/local/bin",
  target = `${root}dist/kubectl-why/kubectl-why`,
} = {}) {
  const added = ["kubectl-why", "kubectl_complete-why"].filter((name) => linkFile(join(dir, name), target));
  if (added.length > 0)
    print(`Linked ${added.join(" and ")} into ${dir}: kubectl why shows why a pod is not ready`);
}

/** True if the link was created or changed. */
function linkFile(path, target) {
  const present = lstatSync(path, { throwIfNoEntry: false });
  if (present) {
    const current = present.isSymbolicLink() ? readlinkSync(path) : undefined;
    if (current === target || !current?.endsWith("/kubectl-why/kubectl-why")) return false;
    rmSync(path);
  }
  try {
    symlinkSync(target, path);
    return true;
  } catch {
    // Another user's directory, or none: the file can be run from where it is.
    return false;
  }
}
