import { conditionOf, type Signal } from "./signals.ts";
import type { FsLayout } from "./thresholds.ts";

/** Resources that the node can reclaim without affecting a running pod. */
export type NodeReclaim = "dead containers" | "unused images";

const both: readonly NodeReclaim[] = ["dead containers", "unused images"];

/** The ways to reclaim the resource of the signal, in this order. */
export function nodeReclaims(signal: Signal, layout: FsLayout): readonly NodeReclaim[] {
  if (conditionOf(signal) !== "DiskPressure") return [];
  const onImageFs = signal.startsWith("imagefs.");
  if (layout.dedicatedImageFs && layout.splitContainerFs)
    return onImageFs ? ["unused images"] : ["dead containers"];
  // Neither dead containers nor images are on the nodefs.
  if (layout.dedicatedImageFs && signal.startsWith("nodefs.")) return [];
  return both;
}
