import type { Pod } from "../../model/pod.ts";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

type Toleration = NonNullable<Pod["spec"]["tolerations"]>[number];

/** True if the pod tolerates every taint that would end it here. Taints that only keep new pods away do not count. */
export function toleratesTaints(pod: Pod, taints: readonly Taint[]): boolean {
  const tolerations = pod.spec.tolerations ?? [];
  return taints
    .filter((taint) => taint.effect === "NoExecute")
    .every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)));
}

function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || "Equal") {
    case "Exists":
      return true;
    case "Equal":
      return Boolean(key) && (value ?? "") === (taint.value ?? "");
    default:
      return false;
  }
}
