import { labelValue, qualifiedName } from "../../lib/base/name-rules.ts";
import type { Taint } from "../../lib/gen/kubernetes/core.d.ts";
import type { ConnectSubresource, ResourceDefinition, Unstructured } from "../definition.ts";
import { checkCidr, cidrFamily } from "./addresses.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";
import { checkAmount } from "./quantities.ts";
import { same } from "./same.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const featurePattern = /^[A-Z][A-Za-z0-9]*(\/[A-Za-z0-9]+)*$/;

export function nodes(proxy: ConnectSubresource | undefined): ResourceDefinition {
  return defineKind({
    group: "",
    version: "v1",
    name: "nodes",
    singular: "node",
    kind: "Node",
    namespaced: false,
    shortNames: ["no"],
    nameRule: nameIsSubdomain,
    defaults(draft) {
      draft.spec ??= {};
      draft.status ??= {};
      mirrorCidr(draft.spec);
    },
    prepareCreate(draft) {
      delete draft.spec.configSource;
      delete draft.status.config;
      addNotReady(draft.spec);
    },
    check(draft, problems) {
      // kube-apiserver reports this path, although taints are in the spec.
      checkTaints(draft.spec?.taints, "metadata.taints", problems);
      checkStatus(draft, problems);
      checkCidrs(draft, problems);
    },
    checkUpdate: checkChange,
    // A kubelet registers its node with its status.
    status: { atCreation: "kept", checkUpdate: checkStatusChange },
    ...(proxy === undefined ? {} : { subresources: { proxy } }),
  });
}

/** No pod is scheduled to a node before it has reported that it is ready. */
function addNotReady(spec: { taints?: { key: string; effect: string }[] }): void {
  const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
  if (spec.taints?.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return;
  spec.taints = [...(spec.taints ?? []), taint];
}

/** podCIDR is the first of podCIDRs; each is defaulted from the other. */
function mirrorCidr(spec: { podCIDR?: string; podCIDRs?: string[] }): void {
  if (spec.podCIDR && !spec.podCIDRs?.length) spec.podCIDRs = [spec.podCIDR];
  if (spec.podCIDRs?.length) spec.podCIDR = spec.podCIDRs[0];
}

function checkStatus(draft: Unstructured, problems: FieldProblems): void {
  for (const list of ["capacity", "allocatable"])
    for (const [name, amount] of Object.entries(draft.status?.[list] ?? {}))
      checkAmount(`status.${list}.${name}`, name, amount as string, problems);
  const features: readonly string[] = draft.status?.declaredFeatures ?? [];
  for (const [i, feature] of features.entries()) {
    const path = `status.declaredFeatures[${i}]`;
    if (!featurePattern.test(feature))
      problems.invalid(
        path,
        feature,
        `invalid feature name ${JSON.stringify(feature)}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      );
    const last = features[i - 1];
    if (last === feature) problems.duplicate(path, feature);
    else if (last !== undefined && last > feature)
      problems.invalid(path, feature, "list must be sorted alphabetically");
  }
}

function checkCidrs(draft: Unstructured, problems: FieldProblems): void {
  const cidrs: readonly string[] = draft.spec?.podCIDRs ?? [];
  for (const [i, cidr] of cidrs.entries()) checkCidr(`spec.podCIDRs[${i}]`, cidr, problems);
  const families = new Set(cidrs.map(cidrFamily));
  if (cidrs.length > 2 || families.size < cidrs.length)
    problems.invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family");
}

function checkChange(draft: Unstructured, oldObject: Readonly<Unstructured>, problems: FieldProblems): void {
  checkStatusChange(draft, oldObject, problems);
  const cidrs = oldObject.spec?.podCIDRs ?? [];
  if (cidrs.length > 0 && !same(cidrs, draft.spec?.podCIDRs))
    problems.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid');
  if (oldObject.spec?.providerID && oldObject.spec.providerID !== draft.spec?.providerID)
    problems.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid');
}

function checkStatusChange(
  draft: Unstructured,
  _oldObject: Readonly<Unstructured>,
  problems: FieldProblems,
): void {
  checkStatus(draft, problems);
  const seen = new Set<string>();
  for (const [i, { type, address }] of (draft.status?.addresses ?? []).entries()) {
    const key = `${type}\n${address}`;
    if (seen.has(key)) problems.duplicate(`status.addresses[${i}]`, { Type: type, Address: address });
    seen.add(key);
  }
}

function checkTaints(taints: readonly Taint[] | undefined, path: string, problems: FieldProblems): void {
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
