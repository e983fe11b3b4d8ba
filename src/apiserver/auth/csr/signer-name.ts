import { dnsLabel, dnsSubdomain, type Messages } from "../../../lib/base/name-rules.ts";
import type { FieldProblems } from "../../kinds/field-problems.ts";
import { legacySigner } from "./signers.ts";

/** "example.com/some-signer": a domain of at least two labels, and a path of names joined by dots. */
export function checkSignerName(name: string, problems: FieldProblems): void {
  const path = "spec.signerName";
  if (name === legacySigner)
    return problems.invalid(path, name, "the legacy signerName is not allowed via this API version");
  if (name === "") return problems.required(path);
  const [domain, rest, ...more] = name.split("/");
  if (domain === undefined || rest === undefined || more.length > 0)
    return problems.invalid(
      path,
      name,
      "must be a fully qualified domain and path of the form 'example.com/signer-name'",
    );
  if (domain.length > 253) problems.tooLong(path, 253);
  const labels = domain.split(".");
  problems.check(path, domain, firstErrors(labels, dnsLabel));
  if (labels.length < 2)
    problems.invalid(path, domain, "should be a domain with at least two segments separated by dots");
  problems.check(path, rest, firstErrors(rest.split("."), dnsSubdomain));
  if (rest.length > 317) problems.tooLong(path, 317);
}

/** Only the first invalid part: more would be redundant. */
function firstErrors(parts: readonly string[], rule: (part: string) => Messages): string[] {
  const invalid = parts.find((part) => rule(part).length > 0);
  return invalid === undefined
    ? []
    : rule(invalid).map((message) => `validating label "${invalid}": ${message}`);
}
