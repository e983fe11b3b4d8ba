import { dnsSubdomain, qualifiedName } from "../../lib/base/name-rules.ts";
import type { ServedVersion, Unstructured } from "../definition.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsPathSegment } from "./names.ts";

const lengths = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

/** The same events in events.k8s.io: only the field names differ. */
const renamed = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
] as const;

const newer: ServedVersion = {
  group: "events.k8s.io",
  version: "v1",
  toStored(draft) {
    for (const [stored, served] of renamed) rename(draft, served, stored);
    draft.apiVersion = "v1";
  },
  fromStored(draft) {
    for (const [stored, served] of renamed) rename(draft, stored, served);
    draft.apiVersion = "events.k8s.io/v1";
  },
};

function rename(draft: Unstructured, from: string, to: string): void {
  if (!Object.hasOwn(draft, from)) return;
  draft[to] = draft[from];
  delete draft[from];
}

export const events = defineKind({
  group: "",
  version: "v1",
  name: "events",
  singular: "event",
  kind: "Event",
  namespaced: true,
  shortNames: ["ev"],
  alsoServedAs: [newer],
  createsOnUpdate: true,
  nameRule: nameIsPathSegment,
  // Every event has these, even if they were not set.
  defaults(draft) {
    draft.involvedObject ??= {};
    draft.source ??= {};
    draft.firstTimestamp ??= null;
    draft.lastTimestamp ??= null;
    draft.eventTime ??= null;
    draft.reportingComponent ??= "";
    draft.reportingInstance ??= "";
  },
  check(draft, problems) {
    if (draft.eventTime) checkTimed(draft, problems);
    else checkLegacy(draft, problems);
    const namespace = draft.metadata.namespace ?? "";
    problems.check("namespace", namespace, dnsSubdomain(namespace));
  },
});

function checkLegacy(draft: Unstructured, problems: FieldProblems): void {
  const about: string = draft.involvedObject?.namespace ?? "";
  const own = draft.metadata.namespace ?? "";
  if (about === "" ? own !== "" && own !== "default" : own !== about) mismatch(about, problems);
}

/** Events with an eventTime name their reporting controller and instance. */
function checkTimed(draft: Unstructured, problems: FieldProblems): void {
  const about: string = draft.involvedObject?.namespace ?? "";
  if (about === "" && !["default", "kube-system"].includes(draft.metadata.namespace ?? ""))
    mismatch(about, problems);
  const controller: string = draft.reportingComponent ?? "";
  if (controller === "") problems.required("reportingComponent");
  problems.check("reportingComponent", controller, qualifiedName(controller));
  for (const field of ["reportingInstance", "action", "reason"] as const)
    if (!draft[field]) problems.required(field);
  for (const [field, most] of Object.entries(lengths))
    if (Buffer.byteLength(draft[field] ?? "") > most)
      problems.invalid(field, "", `can have at most ${most} characters`);
}

function mismatch(about: string, problems: FieldProblems): void {
  problems.invalid("involvedObject.namespace", about, "does not match event.namespace");
}
