import { labelValue, qualifiedName } from "../../lib/base/name-rules.ts";
import type { FieldProblems } from "./field-problems.ts";

interface Taint {
  readonly key?: string;
  readonly value?: string;
  readonly effect?: string;
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function checkTaints(
  taints: readonly Taint[] | undefined,
  path: string,
  problems: FieldProblems,
): void {
  const seen = new Set<string>();
  for (const [i, taint] of (taints ?? []).entries()) {
    const at = `${path}[${i}]`;
    const { key = "", value = "", effect = "" } = taint;
    problems.check(`${at}.key`, key, qualifiedName(key));
    const messages = labelValue(value);
    if (messages.length > 0) problems.invalid(`${at}.value`, value, messages.join(";"));
    if (effect === "") problems.required(`${at}.effect`);
    else problems.oneOf(`${at}.effect`, effect, effects);
    if (seen.has(`${effect}\n${key}`))
      problems.duplicate(at, taint, "taints must be unique by key and effect pair");
    seen.add(`${effect}\n${key}`);
  }
}
