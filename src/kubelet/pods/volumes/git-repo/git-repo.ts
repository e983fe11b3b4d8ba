import { KubeletError } from "../../../../lib/base/errors.ts";
import { removeTree } from "../../../../lib/host/remove-tree.ts";
import type { VolumePlugin } from "../volume-plugin.ts";

const name = "kubernetes.io/git-repo";

/** Clones of git repositories, which v1.36 no longer makes: the gate GitRepoVolumeDriver is locked to off. Clones of an older kubelet are removed. */
export function gitRepoPlugin(): VolumePlugin {
  return {
    name,
    handles: ({ volume, persistent }) => !persistent && volume.gitRepo !== undefined,
    uniqueName: (pod, spec) => `${name}/${pod.metadata.uid}-${spec.name}`,
    async setUp() {
      const how = "if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`";
      throw new KubeletError("Volume", `git-repo volume plugin has been disabled; ${how}`);
    },
    tearDown: ({ dir }) => removeTree(dir),
  };
}
