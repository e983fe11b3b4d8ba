// Records the node as the reference kubelet that KUBELET_REFERENCE names leaves it, for the tests that have none.
import { writeFileSync } from "node:fs";
import type { NodeSnapshot } from "./node-snapshot.ts";
import { swap } from "./run-swap.ts";

export interface Recorded {
  /** The directory of the manifests: a part of the UIDs of static pods. */
  readonly manifests: string;
  readonly look: NodeSnapshot;
}

if (import.meta.main) {
  const { manifests, rounds } = await swap("reference");
  const { look } = rounds[0]!;
  // Bookkeeping of the API, which no kubelet reads.
  const pods = look.pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, managedFields: undefined } }));
  const recorded: Recorded = { manifests, look: { ...look, pods } };
  const file = new URL("../fixtures/swap/reference-1.36.json", import.meta.url);
  writeFileSync(file, `${JSON.stringify(recorded, undefined, 2)}\n`);
}
