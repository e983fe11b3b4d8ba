import type { Taint } from "../../../lib/gen/kubernetes/core.d.ts";
import type { Pod } from "../../../lib/model/pod.ts";

type Toleration = NonNullable<Pod["spec"]["tolerations"]>[number];

/**
 * The first taint that the pod does not tolerate; by default only of NoExecute. `compares`: the operators Lt and Gt, of
 * TaintTolerationComparisonOperators, match.
 */
export function untoleratedTaint(
  pod: Pod,
  taints: readonly Taint[],
  { effects = ["NoExecute"], compares = false }: { effects?: readonly string[]; compares?: boolean } = {},
): Taint | undefined {
  const tolerations = pod.spec.tolerations ?? [];
  return taints
    .filter((taint) => effects.includes(taint.effect))
    .find((taint) => !tolerations.some((toleration) => tolerates(toleration, taint, compares)));
}

/** As kubectl writes it: "key=value:NoExecute". */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ""}:${effect}`;
}

function tolerates({ key, operator, value, effect }: Toleration, taint: Taint, compares: boolean): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || "Equal") {
    case "Exists":
      return true;
    case "Equal":
      return Boolean(key) && (value ?? "") === (taint.value ?? "");
    case "Lt":
    case "Gt":
      return (
        compares && isBeyond(operator === "Lt" ? "below" : "above", integer(taint.value), integer(value))
      );
    default:
      return false;
  }
}

function isBeyond(side: "below" | "above", value: bigint | undefined, bound: bigint | undefined): boolean {
  if (value === undefined || bound === undefined) return false;
  return side === "below" ? value < bound : value > bound;
}

/** A decimal of 64 bits as the API validates it: without sign +, leading zeros or -0. */
function integer(text = ""): bigint | undefined {
  if (!/^(0|-?[1-9][0-9]{0,18})$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
