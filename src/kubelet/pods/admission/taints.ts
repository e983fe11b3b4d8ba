import type { Pod } from "../../../lib/model/pod.ts";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

type Toleration = NonNullable<Pod["spec"]["tolerations"]>[number];

/** The first taint that the pod does not tolerate; by default only of NoExecute. */
export function untoleratedTaint(
  pod: Pod,
  taints: readonly Taint[],
  effects: readonly string[] = ["NoExecute"],
): Taint | undefined {
  const tolerations = pod.spec.tolerations ?? [];
  return taints
    .filter((taint) => effects.includes(taint.effect))
    .find((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
}

/** As kubectl writes it: "key=value:NoExecute". */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ""}:${effect}`;
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
