import { declaredFeatures } from "../node/declared-features.ts";
import { requiredForUpdate } from "../pods/admission/declared-features.ts";
import type { PodChange } from "../state/pod-change.ts";
import type { AgentCore } from "./agent-core.ts";

/** Reports updates that need features that the node does not declare. They are applied anyway, as far as they can be. */
export function reportMissingFeatures(
  { desired, features, options, events }: AgentCore,
  { op, pods }: PodChange,
): void {
  if (op !== "UPDATE") return;
  const declared = declaredFeatures(options.gates, features);
  if (!declared) return;
  for (const pod of pods) {
    const before = desired.get(pod.metadata.uid);
    const missing = before ? requiredForUpdate(before, pod).filter((name) => !declared.includes(name)) : [];
    if (missing.length === 0) continue;
    const message = `Pod requires node features that are not available: ${missing.join(", ")}`;
    events.warning(pod, "FailedNodeDeclaredFeaturesCheck", message);
  }
}
