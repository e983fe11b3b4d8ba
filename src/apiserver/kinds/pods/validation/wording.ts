import * as short from "../../../../lib/model/validation/names.ts";
import type { Problem } from "../../../../lib/model/validation/problem.ts";
import * as full from "../../names.ts";

/** Rules whose messages are shorter on a node than in the API. */
const rules: readonly [(text: string) => string | undefined, (text: string) => full.Messages][] = [
  [short.dnsLabel, full.dnsLabel],
  [short.dnsSubdomain, full.dnsSubdomain],
  [short.qualifiedName, full.qualifiedName],
  [short.labelValue, full.labelValue],
  [short.configMapKey, full.configMapKey],
  [short.portName, full.portName],
];

const invalid = /^Invalid value: ("(?:[^"\\]|\\.)*"): (.*)$/s;

/**
 * A problem with the messages of an API server: with an example and the pattern, and one for each rule that is broken.
 */
export function fullMessages(problem: Problem): Problem[] {
  const [, shown, message] = invalid.exec(problem.message) ?? [];
  if (shown === undefined) return [problem];
  const value = JSON.parse(shown) as string;
  for (const [brief, whole] of rules)
    if (brief(value) === message)
      return whole(value).map((text) => ({
        path: problem.path,
        message: `Invalid value: ${shown}: ${text}`,
      }));
  return [problem];
}
