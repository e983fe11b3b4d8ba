import { KubeletError } from "../../lib/base/errors.ts";

/** The fields of an object that selectors may use; all values are text. */
export type Fields = Readonly<Record<string, string>>;

/** Any object of the API; only the fields that are read are checked. */
type AnyObject = { readonly [field: string]: unknown };

interface KindFields {
  /** The fields that only this kind supports, each with the path of its value or a function that returns it. */
  readonly fields: Readonly<Record<string, string | ((object: AnyObject) => string)>>;
  readonly namespaced: boolean;
  /** Other names of the same fields. */
  readonly aliases?: Readonly<Record<string, string>>;
}

const involvedParts = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

const events = (object: string, controller: string, source: (event: AnyObject) => string): KindFields => ({
  namespaced: true,
  fields: {
    ...Object.fromEntries(involvedParts.map((part) => [`${object}.${part}`, `${object}.${part}`])),
    reason: "reason",
    type: "type",
    [controller]: controller,
    ...(object === "involvedObject" ? { source } : {}),
  },
});

const kinds: Readonly<Record<string, KindFields>> = {
  "v1/Pod": {
    namespaced: true,
    fields: {
      "spec.nodeName": "spec.nodeName",
      "spec.restartPolicy": "spec.restartPolicy",
      "spec.schedulerName": "spec.schedulerName",
      "spec.serviceAccountName": "spec.serviceAccountName",
      "spec.hostNetwork": (pod) => String(at(pod, "spec.hostNetwork") === true),
      "status.phase": "status.phase",
      "status.podIP": (pod) => text(at(pod, "status.podIPs.0.ip")) || text(at(pod, "status.podIP")),
      "status.podIPs": () => "", // accepted but never set, as upstream
      "status.nominatedNodeName": "status.nominatedNodeName",
    },
    aliases: { "spec.host": "spec.nodeName" },
  },
  "v1/Node": {
    namespaced: false,
    fields: { "spec.unschedulable": (node) => String(at(node, "spec.unschedulable") === true) },
  },
  "v1/Namespace": { namespaced: false, fields: { "status.phase": "status.phase" } },
  "v1/Secret": { namespaced: true, fields: { type: "type" } },
  "v1/Service": {
    namespaced: true,
    fields: { "spec.clusterIP": "spec.clusterIP", "spec.type": "spec.type" },
  },
  "v1/Event": events(
    "involvedObject",
    "reportingComponent",
    (event) => text(at(event, "source.component")) || text(at(event, "reportingComponent")),
  ),
  "events.k8s.io/v1/Event": events("regarding", "reportingController", () => ""),
  "resource.k8s.io/v1/ResourceSlice": {
    namespaced: false,
    fields: { "spec.nodeName": "spec.nodeName", "spec.driver": "spec.driver" },
  },
  "certificates.k8s.io/v1/CertificateSigningRequest": {
    namespaced: false,
    fields: { "spec.signerName": "spec.signerName" },
  },
  "certificates.k8s.io/v1beta1/PodCertificateRequest": {
    namespaced: true,
    fields: Object.fromEntries(
      ["spec.signerName", "spec.podName", "spec.nodeName"].map((field) => [field, field]),
    ),
  },
};

const metadataFields = ["metadata.name", "metadata.namespace"];

/** The name under which a field is found in `selectableFields`; rejects fields that the kind does not support. */
export function fieldLabel(apiVersion: string, kind: string, label: string): string {
  const key = `${apiVersion}/${kind}`;
  const known = Object.hasOwn(kinds, key) ? kinds[key] : undefined;
  if (!known) {
    if (metadataFields.includes(label)) return label;
    throw badRequest(
      `${JSON.stringify(label)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  if (label === "metadata.name" || (known.namespaced && label === "metadata.namespace")) return label;
  if (Object.hasOwn(known.fields, label)) return label;
  if (known.aliases && Object.hasOwn(known.aliases, label)) return known.aliases[label]!;
  throw badRequest(`field label not supported: ${label}`);
}

export function selectableFields(apiVersion: string, kind: string, object: AnyObject): Fields {
  const out: Record<string, string> = {};
  for (const field of metadataFields) out[field] = text(at(object, field));
  const key = `${apiVersion}/${kind}`;
  if (!Object.hasOwn(kinds, key)) return out;
  for (const [field, from] of Object.entries(kinds[key]!.fields))
    out[field] = typeof from === "string" ? text(at(object, from)) : from(object);
  return out;
}

function at(object: unknown, path: string): unknown {
  let value = object;
  for (const step of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function badRequest(message: string): KubeletError {
  return new KubeletError("BadRequest", message);
}
