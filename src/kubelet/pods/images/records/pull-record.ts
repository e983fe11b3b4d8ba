import { isObject } from "../../../../lib/base/json-value.ts";
import { dateOf, epochMs, type WallTime, wallTime } from "../../../../lib/base/time.ts";

/** The API object of a credential that an image was pulled with. */
export interface PullObjectCoordinates {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

export interface ImagePullSecret extends PullObjectCoordinates {
  readonly credentialHash: string;
}

/** The pods that may use an image by the name that it was pulled with. */
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[];
  readonly kubernetesServiceAccounts?: readonly PullObjectCoordinates[];
  /** Every pod: it was pulled with the node's credentials or anonymously. */
  readonly nodePodsAccessible?: boolean;
}

/** A pull of this image was started. */
export interface PullIntent {
  readonly image: string;
}

/** An image was pulled by a kubelet, by these names and with these credentials. */
export interface PulledRecord {
  /** Milliseconds since the epoch. */
  readonly updatedAt: WallTime;
  readonly imageRef: string;
  /** By the name in the pod, without tag and digest. An image has to be pulled again to be used by another name. */
  readonly access: ReadonlyMap<string, ImagePullCredentials>;
}

const group = "kubelet.config.k8s.io";
const currentVersion = `${group}/v1beta1`;
const versions = [currentVersion, `${group}/v1alpha1`];

export interface Decoded<T> {
  readonly value: T;
  /** False if it has to be written again in the current version. */
  readonly isCurrent: boolean;
}

export function encodeIntent({ image }: PullIntent): string {
  return `${JSON.stringify({ kind: "ImagePullIntent", apiVersion: currentVersion, image })}\n`;
}

export function encodeRecord({ updatedAt, imageRef, access }: PulledRecord): string {
  const names = [...access].sort(([a], [b]) => (a < b ? -1 : 1));
  const record = {
    kind: "ImagePulledRecord",
    apiVersion: currentVersion,
    lastUpdatedTime: `${dateOf(updatedAt).toISOString().slice(0, 19)}Z`,
    imageRef,
    ...(names.length > 0 && { credentialMapping: Object.fromEntries(names) }),
  };
  return `${JSON.stringify(record)}\n`;
}

export function decodeIntent(text: string): Decoded<PullIntent> {
  const { value, isCurrent } = decode(text, "ImagePullIntent", ["image"]);
  return { value: { image: textOf(value.image, "image") }, isCurrent };
}

export function decodeRecord(text: string): Decoded<PulledRecord> {
  const fields = ["lastUpdatedTime", "imageRef", "credentialMapping"];
  const { value, isCurrent } = decode(text, "ImagePulledRecord", fields);
  const { lastUpdatedTime, imageRef, credentialMapping = {} } = value;
  // A record without a time is an old one.
  const updatedAt = wallTime(
    lastUpdatedTime === null ? 0 : textOf(lastUpdatedTime, "lastUpdatedTime") || "1970-01-01",
  );
  if (Number.isNaN(epochMs(updatedAt))) throw new Error("lastUpdatedTime is not a time");
  const access = new Map<string, ImagePullCredentials>();
  for (const [name, entry] of Object.entries(objectOf(credentialMapping ?? {}, "credentialMapping")))
    access.set(name, decodeAccess(entry));
  return { value: { updatedAt, imageRef: textOf(imageRef, "imageRef"), access }, isCurrent };
}

function decode(text: string, kind: string, fields: readonly string[]): Decoded<Record<string, unknown>> {
  const document = objectOf(JSON.parse(text), "the document");
  const { kind: actualKind, apiVersion, ...value } = document;
  if (actualKind !== kind) throw new Error(`kind is not ${kind}`);
  if (typeof apiVersion !== "string" || !versions.includes(apiVersion))
    throw new Error(`apiVersion is not one of ${versions.join(", ")}`);
  onlyFields(value, fields);
  return { value, isCurrent: apiVersion === currentVersion };
}

function decodeAccess(value: unknown): ImagePullCredentials {
  const entry = objectOf(value, "credentialMapping");
  onlyFields(entry, ["kubernetesSecrets", "kubernetesServiceAccounts", "nodePodsAccessible"]);
  const secrets = listOf(entry.kubernetesSecrets).map((secret) => ({
    ...decodeObjectRef(secret, ["credentialHash"]),
    credentialHash: textOf(secret.credentialHash, "credentialHash"),
  }));
  const accounts = listOf(entry.kubernetesServiceAccounts).map((account) => decodeObjectRef(account, []));
  const everyPod = entry.nodePodsAccessible ?? false;
  if (typeof everyPod !== "boolean") throw new Error("nodePodsAccessible is not true or false");
  return {
    ...(secrets.length > 0 && { kubernetesSecrets: secrets }),
    ...(accounts.length > 0 && { kubernetesServiceAccounts: accounts }),
    ...(everyPod && { nodePodsAccessible: true }),
  };
}

function decodeObjectRef(value: Record<string, unknown>, more: readonly string[]): PullObjectCoordinates {
  onlyFields(value, ["uid", "namespace", "name", ...more]);
  const { uid, namespace, name } = value;
  return { uid: textOf(uid, "uid"), namespace: textOf(namespace, "namespace"), name: textOf(name, "name") };
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (!isObject(value)) throw new Error(`${what} is not an object`);
  return value;
}

function listOf(value: unknown): Record<string, unknown>[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error("credentials are not a list");
  return value.map((item) => objectOf(item, "a credential"));
}

function textOf(value: unknown, what: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new Error(`${what} is not a string`);
  return value;
}

function onlyFields(value: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${unknown} is not a known field`);
}
