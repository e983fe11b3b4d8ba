import type { PodSpec } from "../../../../lib/model/pod.ts";
import { same } from "../../same.ts";

export type Toleration = NonNullable<PodSpec["tolerations"]>[number];

const defaultSeconds = 300;
const taints = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/** A pod stays for five minutes on a failing node, unless it specifies otherwise. */
export function addDefaultTolerations(spec: PodSpec): void {
  const own = spec.tolerations ?? [];
  const covers = (key: string) =>
    own.some((each) => (!each.key || each.key === key) && (!each.effect || each.effect === "NoExecute"));
  const more = taints
    .filter((key) => !covers(key))
    .map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: defaultSeconds }));
  if (more.length > 0) spec.tolerations = [...own, ...more];
}

/** Merges both lists, and omits entries that another entry covers. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [i, each] of all.entries()) {
    const covered =
      merged.some((other) => includes(other, each)) ||
      all.slice(i + 1).some((other) => !same(other, each) && includes(other, each));
    if (!covered) merged.push(each);
  }
  return merged;
}

function includes(wide: Toleration, narrow: Toleration): boolean {
  if (same(wide, narrow)) return true;
  if ((narrow.key ?? "") !== (wide.key ?? "") && (wide.key || wide.operator !== "Exists")) return false;
  if (wide.effect && narrow.effect !== wide.effect) return false;
  if (wide.effect === "NoExecute" && wide.tolerationSeconds !== undefined)
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds)
      return false;
  if (wide.operator === "Exists") return true;
  return narrow.operator === "Equal" && (narrow.value ?? "") === (wide.value ?? "");
}
