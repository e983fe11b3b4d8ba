import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from "../../base/name-rules.ts";
import type { Pod } from "../pod.ts";
import { pathElement } from "./paths.ts";
import type { Problems } from "./problem.ts";

/** All annotations of an object together. */
const annotationBytes = 256 * 1024;

export function checkMetadata(pod: Pod, problems: Problems): void {
  const { name, namespace, uid, labels, annotations } = pod.metadata;
  if (!name) problems.required("metadata.name", "name is needed for the pod");
  else problems.check("metadata.name", name, dnsSubdomain(name));
  if (!namespace) problems.required("metadata.namespace");
  else problems.check("metadata.namespace", namespace, dnsLabel(namespace));
  if (uid) problems.check("metadata.uid", uid, pathElement(uid));
  checkLabels(labels, "metadata.labels", problems);
  checkAnnotations(annotations, problems);
  for (const [i, finalizer] of (pod.metadata.finalizers ?? []).entries())
    problems.check(`metadata.finalizers[${i}]`, finalizer, qualifiedName(finalizer));
}

export function checkLabels(
  labels: Readonly<Record<string, string>> | undefined,
  at: string,
  problems: Problems,
): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    problems.check(problems.entry(at, key), key, qualifiedName(key));
    problems.check(problems.entry(at, key), value, labelValue(value));
  }
}

export function checkAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  problems: Problems,
): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    // Case does not matter in the keys of annotations.
    problems.check(problems.entry("metadata.annotations", key), key, qualifiedName(key.toLowerCase()));
  }
  if (bytes > annotationBytes) problems.tooLong("metadata.annotations", annotationBytes);
}
