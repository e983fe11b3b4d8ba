import { applyPodDefaults } from "../../../lib/model/defaults/pod.ts";
import type { Unstructured } from "../../definition.ts";
import { canonicalize } from "./canonical.ts";
import { asPod } from "./pod-draft.ts";

/** Sets defaults. Idempotent. */
export function defaultPod(draft: Unstructured): void {
  draft.spec ??= {};
  draft.spec.containers ??= [];
  const pod = asPod(draft);
  canonicalize(pod);
  draft.spec = applyPodDefaults({ spec: pod.spec }).spec;
}
