import { describe } from "node:test";
import { type ContainerdVersion, containerdVersions } from "../node/test-node.ts";

/** A suite on one version of containerd; skipped, with the reason, where it cannot run. */
export function describeOn(
  version: ContainerdVersion,
  title: string,
  suite: (v: ContainerdVersion) => void,
): void {
  const available = containerdVersions().find(({ name }) => name === version)?.available ?? "unknown";
  describe(`${title} (containerd ${version})`, { skip: available === true ? false : available }, () =>
    suite(version),
  );
}

/** For what the runtime has little part in: on the newest only, unless VOLUME_RUNTIMES is "all". */
export function describeOnNewest(title: string, suite: (v: ContainerdVersion) => void): void {
  const versions = containerdVersions().map(({ name }) => name);
  for (const version of process.env.VOLUME_RUNTIMES === "all" ? versions : versions.slice(-1))
    describeOn(version, title, suite);
}
