import { labelValue, qualifiedName } from "../../base/name-rules.ts";
import type { Problems } from "./problem.ts";

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** One toleration, of a pod or of a runtime class. */
export function checkToleration(toleration: Toleration, at: string, problems: Problems): void {
  const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
  if (key !== "") problems.check(`${at}.key`, key, qualifiedName(key));
  else if (operator !== "Exists")
    problems.invalid(
      `${at}.operator`,
      operator,
      'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    );
  if (tolerationSeconds !== undefined && effect !== "NoExecute")
    problems.invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  if (operator === "Exists") {
    if (value !== "")
      problems.invalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'");
  } else if (operator === "Equal" || operator === "") {
    const messages = labelValue(value);
    if (messages.length > 0) problems.invalid(`${at}.operator`, value, messages.join(";"));
  } else problems.oneOf(`${at}.operator`, operator, ["Equal", "Exists"]);
  if (effect !== "") problems.oneOf(`${at}.effect`, effect, effects);
}
