import { describe } from "node:test";
import { long, type Rounds } from "../long.ts";
import { type ContainerdVersion, containerdVersions } from "./test-node.ts";

/** The newest version that is available on this machine. */
function newestContainerd(): ContainerdVersion {
  return containerdVersions().findLast(({ available }) => available === true)?.name ?? "2.x";
}

/** `npm test` runs the tests on the newest containerd, `npm run test:all` also the tests on other versions. */
export function namedOnContainerd(name: string, version: ContainerdVersion): string {
  return version === newestContainerd() ? name : long(name);
}

/**
 * One suite for each version of containerd; skipped, with the reason, where it cannot run. With few rounds only
 * the newest version is tested, with many all of them are.
 */
export function describeOnContainerd(
  title: string,
  suite: (version: ContainerdVersion) => void,
  rounds?: Rounds,
): void {
  for (const { name, available } of containerdVersions()) {
    if (rounds?.hasMore && name !== newestContainerd()) continue;
    const full = `${title} (containerd ${name})`;
    const named = rounds?.isLong ? long(full) : namedOnContainerd(full, name);
    describe(named, { skip: available === true ? false : available }, () => suite(name));
  }
}
