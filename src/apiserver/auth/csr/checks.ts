import { messageOf } from "../../../lib/base/errors.ts";
import { dnsLabel, dnsSubdomain, type Messages } from "../../../lib/base/name-rules.ts";
import { parseCertificates, pemBlocks } from "../../../lib/base/x509/x509.ts";
import type { Unstructured } from "../../definition.ts";
import type { FieldProblems } from "../../kinds/field-problems.ts";
import { same } from "../../kinds/same.ts";
import { certificateOf, conditionsOf } from "./conditions.ts";
import { parseSpecRequest } from "./parse-spec.ts";
import { legacySigner } from "./signers.ts";

/** The endpoint through which a CSR is updated. */
export type Subresource = "main" | "status" | "approval";

const usages: readonly string[] = [
  ...[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
  ],
  ...["decipher only", "digital signature", "email protection", "encipher only", "ipsec end system"],
  ...["ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc"],
  ...["ocsp signing", "s/mime", "server auth", "signing", "timestamping"],
];
const permanentConditions = ["Approved", "Denied", "Failed"];

interface Spec {
  readonly request?: string;
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
}

/** Validation errors of a new or updated CSR. */
export function checkRequest(draft: Unstructured, minimumSeconds: number, problems: FieldProblems): void {
  const spec = (draft.spec ?? {}) as Spec;
  const error = requestProblem(spec.request);
  if (error) problems.invalid("spec.request", spec.request ?? "", error);
  checkUsages(spec.usages ?? [], problems);
  checkSignerName(spec.signerName ?? "", problems);
  const seconds = spec.expirationSeconds;
  if (seconds !== undefined && seconds < minimumSeconds)
    problems.invalid(
      "spec.expirationSeconds",
      seconds,
      `may not specify a duration less than ${minimumSeconds} seconds${minimumSeconds === 600 ? " (10 minutes)" : ""}`,
    );
  checkConditions(draft, problems);
  const wrong = certificateProblem(certificateOf(draft));
  if (wrong) problems.invalid("status.certificate", "<certificate data>", wrong);
}

function requestProblem(request: string | undefined): string | undefined {
  try {
    return parseSpecRequest(request).signatureValid
      ? undefined
      : "x509: signature of the request is not valid";
  } catch (error) {
    return messageOf(error);
  }
}

function checkUsages(given: readonly string[], problems: FieldProblems): void {
  if (given.length === 0) problems.required("spec.usages");
  for (const [i, usage] of given.entries()) problems.oneOf(`spec.usages[${i}]`, usage, usages);
  for (const [i, usage] of given.entries())
    if (given.indexOf(usage) < i) problems.duplicate(`spec.usages[${i}]`, usage);
}

function checkConditions(draft: Unstructured, problems: FieldProblems): void {
  const conditions = conditionsOf(draft);
  const types = conditions.map(({ type }) => type);
  for (const [i, { type, status }] of conditions.entries()) {
    const path = `status.conditions[${i}]`;
    if (!type) problems.required(`${path}.type`);
    if (!status) problems.required(`${path}.status`);
    else
      problems.oneOf(
        `${path}.status`,
        status,
        permanentConditions.includes(type) ? ["True"] : ["False", "True", "Unknown"],
      );
    const other = { Approved: "Denied", Denied: "Approved" }[type];
    if (other && types.slice(0, i).includes(other))
      problems.invalid("status.conditions", type, "Approved and Denied conditions are mutually exclusive");
    if (types.indexOf(type) < i) problems.duplicate(`${path}.type`, type);
  }
}

function certificateProblem(base64: string): string | undefined {
  if (base64 === "") return undefined;
  const blocks = pemBlocks(Buffer.from(base64, "base64").toString());
  if (blocks.length === 0) return "must contain at least one CERTIFICATE PEM block";
  const other = blocks.find(({ label }) => label !== "CERTIFICATE");
  if (other) return `only CERTIFICATE PEM blocks are allowed, found "${other.label}"`;
  try {
    for (const { text } of blocks) parseCertificates(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Fields that are immutable through this subresource. */
export function checkSubresource(
  subresource: Subresource,
  draft: Unstructured,
  oldObject: Readonly<Unstructured>,
  problems: FieldProblems,
): void {
  const ofType = (request: Readonly<Unstructured>, type: string) =>
    conditionsOf(request).filter((condition) => condition.type === type);
  for (const type of permanentConditions)
    if (ofType(draft, type).length < ofType(oldObject, type).length)
      problems.forbidden("status.conditions", `updates may not remove a condition of type "${type}"`);
  for (const type of subresource === "approval" ? [] : ["Approved", "Denied"]) {
    const [newConditions, oldConditions] = [ofType(draft, type), ofType(oldObject, type)];
    if (newConditions.length > oldConditions.length)
      problems.forbidden("status.conditions", `updates may not add a condition of type "${type}"`);
    else if (newConditions.length === oldConditions.length && !same(newConditions, oldConditions))
      problems.forbidden("status.conditions", `updates may not modify a condition of type "${type}"`);
  }
  if (certificateOf(draft) === certificateOf(oldObject)) return;
  if (subresource !== "status")
    problems.forbidden("status.certificate", "updates may not set certificate content");
  else if (certificateOf(oldObject) !== "")
    problems.forbidden("status.certificate", "updates may not modify existing certificate content");
}

/** "example.com/some-signer": a domain of at least two labels, and a path of names joined by dots. */
function checkSignerName(name: string, problems: FieldProblems): void {
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

/** The errors of the first invalid part. Those of the other parts would be redundant. */
function firstErrors(parts: readonly string[], rule: (part: string) => Messages): string[] {
  const invalid = parts.find((part) => rule(part).length > 0);
  return invalid === undefined
    ? []
    : rule(invalid).map((message) => `validating label "${invalid}": ${message}`);
}
