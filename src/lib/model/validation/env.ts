import { configMapKey, dnsLabel, dnsSubdomain, envName, qualifiedName } from "../../base/name-rules.ts";
import type { Container } from "../pod.ts";
import { canonicalQuantity } from "../quantity-form.ts";
import { noBacksteps } from "./paths.ts";
import type { Problems } from "./problem.ts";

type FieldRef = { apiVersion?: string; fieldPath?: string };
type ResourceFieldRef = { containerName?: string; resource?: string; divisor?: string };
type KeyRef = { name?: string; key?: string };
type FileKeyRef = { volumeName?: string; path?: string; key?: string };

const podFields = ["metadata.name", "metadata.namespace", "metadata.uid"];
const envFields = new Set([
  ...podFields,
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
]);
export const volumeFields = new Set([...podFields, "metadata.labels", "metadata.annotations"]);
const resourceFields = new Set(
  ["limits", "requests"].flatMap((which) =>
    ["cpu", "memory", "ephemeral-storage"].map((name) => `${which}.${name}`),
  ),
);
const byteDivisors = new Set(
  ["1", ..."kMGTPE"].flatMap((s) => (s === "1" ? ["1"] : [`1${s}`, `1${s.toUpperCase()}i`])),
);

export function checkEnv(container: Container, at: string, problems: Problems): void {
  for (const [i, variable] of (container.env ?? []).entries()) {
    const path = `${at}.env[${i}]`;
    if (!variable.name) problems.required(`${path}.name`);
    else problems.check(`${path}.name`, variable.name, envName(variable.name));
    if (variable.valueFrom) checkValueFrom(variable.valueFrom, variable.value, `${path}.valueFrom`, problems);
  }
  for (const [i, source] of (container.envFrom ?? []).entries()) {
    const path = `${at}.envFrom[${i}]`;
    if (source.prefix) problems.check(`${path}.prefix`, source.prefix, envName(source.prefix));
    const kinds = (["configMapRef", "secretRef"] as const).filter((kind) => source[kind]);
    for (const kind of kinds) checkObjectName(source[kind]?.name, `${path}.${kind}.name`, problems);
    if (kinds.length === 0) problems.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
    if (kinds.length > 1) problems.invalid(path, "", "may not have more than one field specified at a time");
  }
}

function checkValueFrom(from: object, value: string | undefined, at: string, problems: Problems): void {
  const kinds = Object.keys(from);
  if (kinds.length === 0)
    problems.invalid(
      at,
      "",
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
    );
  else if (value) problems.invalid(at, "", "may not be specified when `value` is not empty");
  else if (kinds.length > 1) problems.invalid(at, "", "may not have more than one field specified at a time");
  for (const [kind, reference] of Object.entries(from)) {
    const path = `${at}.${kind}`;
    if (kind === "fieldRef") checkFieldRef(reference as FieldRef, envFields, path, problems);
    else if (kind === "resourceFieldRef")
      checkResourceFieldRef(reference as ResourceFieldRef, false, path, problems);
    else if (kind === "fileKeyRef") checkFileKeyRef(reference as FileKeyRef, path, problems);
    else checkKeyRef(reference as KeyRef, path, problems);
  }
}

export function checkFieldRef(
  ref: FieldRef,
  allowed: ReadonlySet<string>,
  at: string,
  problems: Problems,
): void {
  const { apiVersion, fieldPath } = ref;
  if (!apiVersion) {
    problems.required(`${at}.apiVersion`);
    return;
  }
  if (!fieldPath) {
    problems.required(`${at}.fieldPath`);
    return;
  }
  if (apiVersion !== "v1") {
    problems.unsupported(`${at}.apiVersion`, apiVersion, ["v1"]);
    return;
  }
  const subscript = /^(.*)\['(.*)'\]$/.exec(fieldPath);
  if (!subscript) {
    if (!allowed.has(fieldPath)) problems.unsupported(`${at}.fieldPath`, fieldPath, allowed);
    return;
  }
  const [, field = "", key = ""] = subscript;
  if (field === "metadata.annotations")
    problems.check(`${at}.fieldPath`, key, qualifiedName(key.toLowerCase()));
  else if (field === "metadata.labels") problems.check(`${at}.fieldPath`, key, qualifiedName(key));
  else problems.invalid(`${at}.fieldPath`, field, "does not support subscript");
}

export function checkResourceFieldRef(
  ref: ResourceFieldRef,
  inVolume: boolean,
  at: string,
  problems: Problems,
): void {
  const { containerName, resource = "", divisor = "0" } = ref;
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource);
  if (inVolume && !containerName) problems.required(`${at}.containerName`);
  else if (!resource) problems.required(`${at}.resource`);
  else if (!resourceFields.has(resource) && !hugePages)
    problems.unsupported(`${at}.resource`, resource, resourceFields);
  const canonical = canonicalQuantity(divisor) ?? divisor;
  if (canonical === "0") return;
  const allowed = resource.endsWith(".cpu") ? new Set(["1m", "1"]) : byteDivisors;
  if (!allowed.has(canonical)) problems.unsupported(`${at}.divisor`, divisor, allowed);
}

function checkKeyRef(ref: KeyRef, at: string, problems: Problems): void {
  checkObjectName(ref.name, `${at}.name`, problems);
  if (!ref.key) problems.required(`${at}.key`);
  else problems.check(`${at}.key`, ref.key, configMapKey(ref.key));
}

function checkFileKeyRef(ref: FileKeyRef, at: string, problems: Problems): void {
  if (!ref.key) problems.required(`${at}.key`);
  else problems.check(`${at}.key`, ref.key, envName(ref.key));
  if (!ref.volumeName) problems.required(`${at}.volumeName`);
  else problems.check(`${at}.volumeName`, ref.volumeName, dnsLabel(ref.volumeName));
  if (!ref.path) problems.required(`${at}.path`);
  else problems.check(`${at}.path`, ref.path, noBacksteps(ref.path));
}

function checkObjectName(name: string | undefined, at: string, problems: Problems): void {
  if (!name) problems.required(at);
  else problems.check(at, name, dnsSubdomain(name));
}
