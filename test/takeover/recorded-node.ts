import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PodSource } from "../../src/kubelet/pipeline/sources/source.ts";
import type { SandboxId } from "../../src/lib/clients/cri/cri.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { makeStaticPod } from "../../src/lib/model/static-pod.ts";
import { nodeName, server, type TestCluster } from "../cluster/cluster-node.ts";
import type { ApiObject } from "../cluster/fake-api.ts";
import { runtimeClient } from "../e2e/agent-process.ts";
import { busyboxName } from "../node/test-node.ts";
import type { Listed } from "./node-snapshot.ts";
import { recorded } from "./recorded.ts";
import { manifests } from "./takeover-pods.ts";

/** Only pods without volumes can be restored: mounts would have to exist. */
const withoutVolumes = (pod: Pod) => (pod.spec.volumes ?? []).length === 0;

/** Puts the recorded pods into the API, their containers into the runtime and the reference kubelet's files into the root directory. */
export async function restoreRecorded(
  cluster: TestCluster,
  pods: readonly Pod[] = recorded.snapshot.pods.filter(withoutVolumes),
): Promise<{ pods: readonly Pod[]; ids: Map<string, string> }> {
  const { snapshot } = recorded;
  const uids = new Set(
    pods.map(({ metadata }) => metadata.annotations?.["kubernetes.io/config.hash"] ?? metadata.uid),
  );
  const ids = await createContainers(cluster, uids);
  for (const pod of pods) cluster.api.put("pods", JSON.parse(renamed(JSON.stringify(pod), ids)) as ApiObject);
  const root = join(cluster.dir, "root");
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "allocated_pods_state"), snapshot.allocated!);
  writeFileSync(join(root, "actuated_pods_state"), snapshot.actuated!);
  return { pods, ids };
}

/** Returns the new IDs, which the runtime assigns, by recorded ID. */
async function createContainers(
  cluster: TestCluster,
  uids: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const runtime = runtimeClient(cluster.runtime.endpoint);
  const ids = new Map<string, string>();
  const isSelected = ({ labels }: Listed) => uids.has(labels["io.kubernetes.pod.uid"] ?? "");
  for (const sandbox of recorded.snapshot.sandboxes.filter(isSelected)) {
    const { id, metadata, labels, annotations } = sandbox;
    const usesHostNetwork = labels["io.kubernetes.pod.name"]?.startsWith("small");
    const namespaceOptions = { network: usesHostNetwork ? 2 : 0 };
    const linux = { securityContext: { namespaceOptions } };
    const config = { metadata, labels: { ...labels }, annotations: { ...annotations }, linux };
    const copyId = await runtime.runPodSandbox(config as never, "");
    ids.set(id, copyId);
    // The oldest first, in the order in which they were started.
    const containers = recorded.snapshot.allContainers.filter((c) => c.sandbox === id).reverse();
    for (const container of containers) {
      const of = {
        metadata: container.metadata,
        labels: { ...container.labels },
        annotations: { ...container.annotations },
        image: { image: busyboxName },
        command: container.metadata.name === "first" ? ["true"] : server,
      };
      const copy = await runtime.createContainer(copyId as SandboxId, of, config as never);
      await runtime.startContainer(copy);
      ids.set(container.id, copy);
    }
  }
  runtime.close();
  return ids;
}

/** Replaces recorded container IDs and the runtime's name with those of this runtime. */
function renamed(text: string, ids: ReadonlyMap<string, string>): string {
  const withIds = [...ids].reduce((all, [from, to]) => all.replaceAll(from, to), text);
  return withIds.replaceAll("containerd://", "fake://");
}

/** The recorded manifests as a source, with the paths that they had for the reference kubelet. */
export function manifestSource(): PodSource {
  const pods = Object.entries(manifests).flatMap(([name, manifest]) => {
    const origin = { source: "file" as const, path: join(recorded.manifests, name) };
    const decoded = makeStaticPod(manifest, { nodeName, origin });
    if ("problems" in decoded) throw new Error(JSON.stringify(decoded.problems));
    return withoutVolumes(decoded.pod) ? [decoded.pod] : [];
  });
  return {
    name: "file",
    done: Promise.resolve(),
    health: () => ({ ok: true }),
    start: async (_signal, emit) => emit(pods),
  };
}
