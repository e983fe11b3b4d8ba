import { csiPluginName } from "./csi/names.ts";
import { csiSourceOf } from "./csi/source.ts";
import type { FailedVolume } from "./manager/volume-manager.ts";

/** The volume may be mounted now that a volume was attached to the node; what fails for another reason keeps its back-off. */
export function waitsForAttachment({ step }: FailedVolume): boolean {
  return step.endsWith("WaitForAttach failed");
}

/** The volume needs this CSI driver. True also if its driver is not known. */
export function needsDriver({ plugin, spec }: FailedVolume, driver: string): boolean {
  return plugin === csiPluginName && (spec === undefined || csiSourceOf(spec, "")?.driver === driver);
}
