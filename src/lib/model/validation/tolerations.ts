import { labelValue, qualifiedName } from "../../base/name-rules.ts";
import type { Toleration } from "../../gen/kubernetes/core.d.ts";
import type { Problems } from "./problem.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const operators = ["Equal", "Exists"];
const comparisons = ["Lt", "Gt"];

/** One toleration, of a pod or of a runtime class. `comparesTaints`: TaintTolerationComparisonOperators, off by default. */
export function checkToleration(
  toleration: Toleration,
  at: string,
  problems: Problems,
  { comparesTaints = false }: { readonly comparesTaints?: boolean } = {},
): void {
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
  } else if (!comparisons.includes(operator)) problems.oneOf(`${at}.operator`, operator, operators);
  else if (comparesTaints) problems.check(`${at}.value`, value, integerMessages(value));
  else problems.notSupported(`${at}.operator`, operator, [...operators, ...comparisons]);
  if (effect !== "") problems.oneOf(`${at}.effect`, effect, effects);
}

/** Problems of the canonical form come first, then the error of Go's parser of 64 bits. */
function integerMessages(text: string): string[] {
  const messages: string[] = [];
  if (text === "") messages.push("must be non-empty");
  else if (!/^(?:0|-?[1-9][0-9]*)$/.test(text))
    messages.push("must be a valid decimal integer in canonical form");
  const isNumber = /^[+-]?[0-9]+$/.test(text);
  const number = isNumber ? BigInt(text.replace(/^\+/, "")) : 0n;
  const error = isNumber ? "value out of range" : "invalid syntax";
  if (!isNumber || BigInt.asIntN(64, number) !== number)
    messages.push(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${error}`);
  return messages;
}
