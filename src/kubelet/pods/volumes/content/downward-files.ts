import { joinErrors, KubeletError } from "../../../../lib/base/errors.ts";
import { qualifiedName } from "../../../../lib/base/name-rules.ts";
import { formatMap, resourceFieldText } from "../../../../lib/model/downward-api.ts";
import type { Pod, Volume } from "../../../../lib/model/pod.ts";
import { amountsOf, type ResourceAmounts } from "../../../../lib/model/resources.ts";
import type { ContentFile } from "./payload.ts";

export type DownwardItem = NonNullable<NonNullable<Volume["downwardAPI"]>["items"]>[number];

export interface DownwardContext {
  readonly pod: Pod;
  /** Allocatable resources of the node: the limits of containers without limits. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/** The files of a downwardAPI volume. */
export function downwardFiles(
  items: readonly DownwardItem[] | undefined,
  context: DownwardContext,
  mode: number,
): Map<string, ContentFile> {
  const files = new Map<string, ContentFile>();
  const errors: unknown[] = [];
  for (const item of items ?? []) {
    try {
      files.set(item.path, { data: Buffer.from(textOf(item, context)), mode: item.mode ?? mode });
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw joinErrors(errors);
  return files;
}

function textOf({ fieldRef, resourceFieldRef }: DownwardItem, context: DownwardContext): string {
  if (fieldRef) return fieldText(fieldRef.fieldPath, context.pod);
  return resourceFieldRef ? resourceText(resourceFieldRef, context) : "";
}

/** Fewer fields than for environment variables: those that do not depend on the status. */
function fieldText(fieldPath: string, { metadata }: Pod): string {
  const subscripted = /^(.+?)\['(.*)'\]$/s.exec(fieldPath);
  if (subscripted) return entryText(fieldPath, subscripted[1] ?? "", subscripted[2] ?? "", metadata);
  switch (fieldPath) {
    case "metadata.annotations":
      return formatMap(metadata.annotations);
    case "metadata.labels":
      return formatMap(metadata.labels);
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace;
    case "metadata.uid":
      return metadata.uid;
    default:
      throw new KubeletError("DownwardApi", `unsupported fieldPath: ${fieldPath}`);
  }
}

function entryText(fieldPath: string, path: string, key: string, metadata: Pod["metadata"]): string {
  const isAnnotation = path === "metadata.annotations";
  if (!isAnnotation && path !== "metadata.labels")
    throw new KubeletError("DownwardApi", `fieldPath "${fieldPath}" does not support subscript`);
  const messages = qualifiedName(isAnnotation ? key.toLowerCase() : key);
  if (messages.length > 0)
    throw new KubeletError("DownwardApi", `invalid key subscript in ${fieldPath}: ${messages.join(";")}`);
  const map = (isAnnotation ? metadata.annotations : metadata.labels) ?? {};
  return Object.hasOwn(map, key) ? (map[key] ?? "") : "";
}

type ResourceRef = NonNullable<DownwardItem["resourceFieldRef"]>;

function resourceText(ref: ResourceRef, { pod, allocatable }: DownwardContext): string {
  const { containerName = "" } = ref;
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
    ({ name }) => name === containerName,
  );
  if (!container) throw new KubeletError("DownwardApi", `container ${containerName} not found`);
  const { requests, limits } = container.resources ?? {};
  const text = resourceFieldText(ref, {
    requests: amountsOf(requests),
    limits: limitsOf(limits, amountsOf(allocatable)),
  });
  if (text === undefined)
    throw new KubeletError("DownwardApi", `unsupported container resource : ${ref.resource}`);
  return text;
}

function limitsOf(own: Readonly<Record<string, string>> | undefined, most: ResourceAmounts): ResourceAmounts {
  const limits = amountsOf(own);
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const amount = most.get(name);
    if (!limits.get(name) && amount !== undefined) limits.set(name, amount);
  }
  return limits;
}
