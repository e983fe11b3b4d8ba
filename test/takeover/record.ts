// Records the state of a node of the reference kubelet, whose path is in KUBELET_REFERENCE, for tests without it.
import { writeFileSync } from "node:fs";
import { detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { isolatedReport } from "../node/isolated-report.ts";
import { recordable } from "./compare/accepted.ts";
import { type RecordName, recordFile } from "./compare/compare-node.ts";
import { type Kind, kinds, type Place } from "./compare/kinds.ts";
import { observe } from "./compare/observe.ts";
import type { RecordedBrokenPods } from "./isolated-broken-pods.ts";
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

async function recordNode(place: Place, name: RecordName, without: readonly Kind[]): Promise<void> {
  const facts = await observe("reference", place);
  const kept = kinds.filter((kind) => !without.includes(kind));
  const recorded = Object.fromEntries(kept.map((kind) => [kind, recordable(facts[kind])]));
  writeFileSync(recordFile(name), `${JSON.stringify(recorded, undefined, 1)}\n`);
}

/** One object a line. */
async function recordBrokenPods(): Promise<void> {
  const script = new URL("isolated-broken-pods.ts", import.meta.url);
  const { at, node, pods, events } = await isolatedReport<RecordedBrokenPods>(script);
  const uids = new Set(pods.map(({ metadata }) => metadata.uid as string));
  const ofPods = events.filter(({ involvedObject }) => uids.has(involvedObject.uid ?? ""));
  const lines = (objects: readonly object[]) => objects.map((one) => JSON.stringify(one)).join(",\n");
  const file = new URL("../fixtures/takeover/broken-pods-1.36.json", import.meta.url);
  const head = `{"at":${JSON.stringify(at)},\n"node":${JSON.stringify(node)},\n`;
  writeFileSync(file, `${head}"pods":[\n${lines(pods)}\n],\n"events":[\n${lines(ofPods)}\n]}\n`);
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
  const { version } = await detectLayout();
  // Values of cgroups and requests to the runtime depend on the machine as a whole. All guests are the same machine.
  await recordNode("host", `host-v${version}`, ["cgroup files", "CRI requests"]);
  await recordNode("guest", "guest", []);
  await recordBrokenPods();
}
