import { describe } from "node:test";
import { namedOnContainerd } from "../node/on-containerd.ts";
import { type ContainerdVersion, containerdVersions } from "../node/test-node.ts";

/** A suite on one version of containerd; skipped, with the reason, where it cannot run. */
export function describeOn(
  version: ContainerdVersion,
  title: string,
  suite: (v: ContainerdVersion) => void,
): void {
  const available = containerdVersions().find(({ name }) => name === version)?.available ?? "unknown";
  const named = namedOnContainerd(`${title} (containerd ${version})`, version);
  describe(named, { skip: available === true ? false : available }, () => suite(version));
}
