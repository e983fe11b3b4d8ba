import { applyPodDefaults } from "../../src/lib/model/defaults/pod.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { podOf, type ReferencePod, referencePods } from "./reference-pods.ts";

const names = ["no requests and no limits", "requests below limits", "Guaranteed", "CPU request only"];

/** Pods of the table that fit together on a small machine. */
export const killedRows: readonly ReferencePod[] = [...names, ...names].map(
  (rule) => referencePods.find((row) => row.rule === rule)!,
);

export const killedPods = killedRows.map((row, index) => {
  const pod = applyPodDefaults(podOf(row, `p${index}`, `d1d1d1d1-0000-4000-8000-00000000000${index}`));
  for (const container of pod.spec.containers) container.image = fakeImages.busybox;
  pod.spec.terminationGracePeriodSeconds = 1;
  return pod;
});
