import { httpStatusOf, KubeletError } from "../../../../lib/base/errors.ts";
import type { Volume } from "../../../../lib/model/pod.ts";
import type { ContentFile } from "./payload.ts";

type Values = Readonly<Record<string, string>>;

export interface ConfigMapContent {
  readonly data?: Values;
  /** Base64. */
  readonly binaryData?: Values;
}

export interface SecretContent {
  /** Base64. */
  readonly data?: Values;
}

export type ContentKind = "ConfigMap" | "Secret";
export type ContentOf<K extends ContentKind> = K extends "Secret" ? SecretContent : ConfigMapContent;

/** The source of Secrets and ConfigMaps: `PodObjects` or `LocalObjects`. An object that does not exist is an error with status 404. */
export interface ContentObjects {
  get<K extends ContentKind>(
    kind: K,
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<ContentOf<K>>;
}

/** The object of a volume, or of a source of a projected volume, and how to present it. */
export interface ObjectFilesRequest {
  readonly namespace: string;
  readonly name: string;
  readonly items: KeyToPath[] | undefined;
  readonly optional: boolean | undefined;
  readonly mode: number;
  readonly signal: AbortSignal;
}
type KeyToPath = NonNullable<NonNullable<Volume["secret"]>["items"]>[number];

export async function secretFiles(
  objects: ContentObjects,
  request: ObjectFilesRequest,
): Promise<Map<string, ContentFile>> {
  const { data } = (await find(objects, "Secret", request)) ?? {};
  return selected(decoded(data), request, (key) => `references non-existent secret key: ${key}`);
}

export async function configMapFiles(
  objects: ContentObjects,
  request: ObjectFilesRequest,
): Promise<Map<string, ContentFile>> {
  const { data, binaryData } = (await find(objects, "ConfigMap", request)) ?? {};
  const text = Object.entries(data ?? {}).map(([key, value]): [string, Buffer] => [key, Buffer.from(value)]);
  const values = new Map([...decoded(binaryData), ...text]);
  return selected(values, request, (key) => `configmap references non-existent config key: ${key}`);
}

/** Undefined for an optional object that does not exist. */
async function find<K extends ContentKind>(
  objects: ContentObjects,
  kind: K,
  { namespace, name, optional, signal }: ObjectFilesRequest,
): Promise<ContentOf<K> | undefined> {
  try {
    return await objects.get(kind, namespace, name, signal);
  } catch (error) {
    if (optional && httpStatusOf(error) === 404) return undefined;
    throw error;
  }
}

function decoded(values: Values | undefined): Map<string, Buffer> {
  return new Map(Object.entries(values ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64")]));
}

function selected(
  values: ReadonlyMap<string, Buffer>,
  { items, optional, mode }: ObjectFilesRequest,
  missing: (key: string) => string,
): Map<string, ContentFile> {
  const files = new Map<string, ContentFile>();
  if (!items?.length) {
    for (const [key, data] of values) files.set(key, { data, mode });
    return files;
  }
  for (const item of items) {
    const data = values.get(item.key);
    if (data) files.set(item.path, { data, mode: item.mode ?? mode });
    else if (!optional) throw new KubeletError("MissingKey", missing(item.key));
  }
  return files;
}
