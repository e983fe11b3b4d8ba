import type { PodSpec } from "../../../../model/pod.ts";
import type { FieldProblems } from "../../field-problems.ts";
import { labelValue, qualifiedName } from "../../names.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function checkTolerations(
  tolerations: PodSpec["tolerations"],
  path: string,
  problems: FieldProblems,
): void {
  for (const [i, toleration] of (tolerations ?? []).entries()) {
    const { key, operator = "", value = "", effect = "", tolerationSeconds } = toleration;
    const at = `${path}[${i}]`;
    if (key) problems.checks(`${at}.key`, key, qualifiedName(key));
    else if (operator !== "Exists")
      problems.invalid(
        `${at}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    if (tolerationSeconds !== undefined && effect !== "NoExecute")
      problems.invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (operator === "Equal" || operator === "") {
      const complaints = labelValue(value);
      if (complaints.length > 0) problems.invalid(`${at}.operator`, value, complaints.join(";"));
    } else if (operator !== "Exists") problems.oneOf(`${at}.operator`, operator, ["Equal", "Exists"]);
    else if (value)
      problems.invalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'");
    if (effect) problems.oneOf(`${at}.effect`, effect, effects);
  }
}
