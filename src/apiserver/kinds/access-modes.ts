import { core } from "../../lib/schema/types/core/core.ts";
import type { FieldProblems } from "./field-problems.ts";

const modes = core.values("PersistentVolumeAccessMode");
export const volumeModes = core.values("PersistentVolumeMode");

export function checkAccessModes(asked: readonly string[], path: string, problems: FieldProblems): void {
  for (const mode of asked) problems.oneOf(path, mode, modes);
  if (asked.includes("ReadWriteOncePod") && asked.some((mode) => mode !== "ReadWriteOncePod"))
    problems.forbidden(path, "may not use ReadWriteOncePod with other access modes");
}
