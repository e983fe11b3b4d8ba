import { core } from "../../lib/schema/types/core/core.ts";
import type { FieldProblems } from "./field-problems.ts";

const modes = core.values("PersistentVolumeAccessMode");
export const volumeModes = core.values("PersistentVolumeMode");

export function checkAccessModes(requested: readonly string[], path: string, problems: FieldProblems): void {
  for (const mode of requested) problems.oneOf(path, mode, modes);
  if (requested.includes("ReadWriteOncePod") && requested.some((mode) => mode !== "ReadWriteOncePod"))
    problems.forbidden(path, "may not use ReadWriteOncePod with other access modes");
}
