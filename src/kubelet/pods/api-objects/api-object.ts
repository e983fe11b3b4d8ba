import { KubeletError } from "../../../lib/base/errors.ts";
import { KubeApiError } from "../../../lib/clients/kube/api-error.ts";
import type { RawObject } from "../../../lib/clients/kube/watch-stream.ts";
import type { ObjectKind, ObjectRef } from "./objects-of.ts";

interface Meta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
}
type Values = Readonly<Record<string, string>>;

export interface ConfigMap {
  readonly metadata: Meta;
  readonly immutable?: boolean;
  readonly data?: Values;
  /** Base64, as the API sends it. */
  readonly binaryData?: Values;
}

export interface Secret {
  readonly metadata: Meta;
  readonly immutable?: boolean;
  readonly type?: string;
  /** Base64, as the API sends it. */
  readonly data?: Values;
}

export type ApiObject = ConfigMap | Secret;
export type ObjectOf<K extends ObjectKind> = K extends "Secret" ? Secret : ConfigMap;

/** The fields of an object that a pod can use. */
export function toApiObject(kind: ObjectKind, raw: RawObject): ApiObject {
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = raw.metadata ?? {};
  const metadata = {
    name: String(name),
    namespace: String(namespace),
    uid: String(uid),
    resourceVersion: String(resourceVersion),
  };
  const common = {
    metadata,
    ...(raw.immutable === true && { immutable: true }),
    ...valuesOf(raw, "data"),
  };
  if (kind === "ConfigMap") return { ...common, ...valuesOf(raw, "binaryData") };
  return { ...common, ...(typeof raw.type === "string" && { type: raw.type }) };
}

// Messages name fields only: values may be secret.
function valuesOf(raw: RawObject, field: "data" | "binaryData"): { [field: string]: Values } {
  const values = raw[field];
  if (values === undefined || values === null) return {};
  if (typeof values !== "object" || Object.values(values).some((value) => typeof value !== "string"))
    throw new KubeletError("BadObject", `${field} is not a map of strings`);
  return { [field]: values as Values };
}

const resources = { ConfigMap: "configmaps", Secret: "secrets" } as const;

export function collectionPath({ kind, namespace }: ObjectRef): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resources[kind]}`;
}

export function objectPath(ref: ObjectRef): string {
  return `${collectionPath(ref)}/${encodeURIComponent(ref.name)}`;
}

export function notRegistered({ namespace, name }: ObjectRef): KubeletError {
  return new KubeletError("NotRegistered", `object "${namespace}"/"${name}" not registered`);
}

/** The same message and status as the API's: callers need not know where the error comes from. */
export function notFound({ kind, name }: ObjectRef): KubeApiError {
  const message = `${kind.toLowerCase()} "${name}" not found`;
  return new KubeApiError({ status: 404, reason: "NotFound", message });
}
