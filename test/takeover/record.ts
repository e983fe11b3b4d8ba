// Records the state of a node of the reference kubelet, whose path is in KUBELET_REFERENCE, for tests without it.
import { writeFileSync } from "node:fs";
import { recordedKinds } from "./compare/kinds.ts";
import { observe } from "./compare/observe.ts";
import type { NodeSnapshot } from "./node-snapshot.ts";
import type { RecordedFile } from "./recorded-files.ts";
import { runKubelets } from "./run-isolated.ts";

export interface Recorded {
  /** The directory of the manifests, on which the UIDs of static pods depend. */
  readonly manifests: string;
  readonly snapshot: NodeSnapshot;
  /** The files that it left in its root directory. */
  readonly files: readonly RecordedFile[];
}

if (import.meta.main) {
  const { manifests, rounds } = await runKubelets("reference");
  const { snapshot, files } = rounds[0]!;
  // No kubelet reads managed fields.
  const pods = snapshot.pods.map((pod) => ({
    ...pod,
    metadata: { ...pod.metadata, managedFields: undefined },
  }));
  const recorded: Recorded = { manifests, snapshot: { ...snapshot, pods }, files };
  const file = new URL("../fixtures/takeover/reference-1.36.json", import.meta.url);
  writeFileSync(file, `${JSON.stringify(recorded, undefined, 2)}\n`);
  const facts = await observe("reference");
  const observed = Object.fromEntries(recordedKinds.map((kind) => [kind, facts[kind]]));
  const observedFile = new URL("../fixtures/takeover/observed-facts.json", import.meta.url);
  writeFileSync(observedFile, `${JSON.stringify(observed, undefined, 1)}\n`);
}
