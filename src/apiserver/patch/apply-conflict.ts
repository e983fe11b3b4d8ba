import type { Manager } from "./managed-fields.ts";
import type { Conflict } from "./ownership.ts";
import { PatchError } from "./patch-error.ts";
import { pathText } from "./path-element.ts";
import { compareText } from "./text-order.ts";

/** The conflict error of an apply, with the message that kubectl users know. */
export function conflictError(conflicts: readonly Conflict[]): PatchError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${managerText(manager)}`,
    field: pathText(path),
  }));
  return new PatchError("Conflict", message(conflicts), causes);
}

function message(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (first && conflicts.length === 1)
    return `Apply failed with 1 conflict: conflict with ${managerText(first.manager)}: ${pathText(first.path)}`;
  const byManager = Map.groupBy(conflicts, ({ manager }) => managerText(manager));
  const lines = [...byManager.keys()]
    .sort(compareText)
    .flatMap((manager) => [
      `conflicts with ${manager}:`,
      ...byManager.get(manager)!.map(({ path }) => `- ${pathText(path)}`),
    ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

function managerText({ name, operation, apiVersion, subresource }: Manager): string {
  const which =
    JSON.stringify(name) + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : "");
  return operation === "Update" ? `${which} using ${apiVersion}` : which;
}
