import { StatusError } from "../status-error.ts";
import type { ApiObject, StoredObject } from "../storage/object.ts";
import type { IncludeObject, tableOf } from "../tables/table-of.ts";
import type { Served } from "./catalog.ts";
import type { View } from "./media-types.ts";
import { badRequest } from "./problems.ts";
import { itemText, servedText, servedValue } from "./served-form.ts";

/** Builds the table that kubectl prints. */
export type TableMaker = (...args: Parameters<typeof tableOf>) => object;

export interface Presentation {
  readonly served: Served;
  readonly view: View;
  readonly tables: TableMaker | undefined;
  readonly includeObject: IncludeObject;
  readonly now: () => number;
}

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") || "Metadata";
  if (value === "Metadata" || value === "Object" || value === "None") return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** One object in the requested presentation, as JSON. */
export function objectText(presentation: Presentation, stored: StoredObject, withHeaders = true): string {
  const { served, view } = presentation;
  switch (view.as) {
    case "object":
      return servedText(served, stored);
    case "PartialObjectMetadata":
      return JSON.stringify(partial(stored.value, view.version));
    case "PartialObjectMetadataList":
      throw new StatusError(
        406,
        "NotAcceptable",
        `you requested PartialObjectMetadataList, but the requested object is not a list (${served.definition.kind})`,
      );
    case "Table": {
      const meta = { resourceVersion: String(stored.value.metadata.resourceVersion ?? "") };
      return tableText(presentation, view.version, [servedValue(served, stored)], meta, withHeaders);
    }
    default:
      return view satisfies never;
  }
}

export function listText(
  presentation: Presentation,
  items: readonly StoredObject[],
  metadata: ListMeta,
): string {
  const { served, view } = presentation;
  switch (view.as) {
    case "object": {
      const head = { kind: `${served.definition.kind}List`, apiVersion: served.apiVersion, metadata };
      const texts = items.map((item) => itemText(served, item));
      return `${JSON.stringify(head).slice(0, -1)},"items":[${texts.join(",")}]}`;
    }
    case "PartialObjectMetadataList":
      return JSON.stringify({
        kind: "PartialObjectMetadataList",
        apiVersion: `meta.k8s.io/${view.version}`,
        metadata,
        items: items.map(({ value }) => partial(value, view.version)),
      });
    case "PartialObjectMetadata":
      throw new StatusError(
        406,
        "NotAcceptable",
        `you requested PartialObjectMetadata, but the requested object is a list (${served.definition.kind}List)`,
      );
    case "Table": {
      const values = items.map((item) => servedValue(served, item));
      return tableText(presentation, view.version, values, metadata, true);
    }
    default:
      return view satisfies never;
  }
}

/** A bookmark: an object that has only a resourceVersion. */
export function bookmarkText({ served, view }: Presentation, version: number, endOfInitial: boolean): string {
  const metadata = {
    resourceVersion: String(version),
    creationTimestamp: null,
    ...(endOfInitial && { annotations: { "k8s.io/initial-events-end": "true" } }),
  };
  if (view.as === "object")
    return JSON.stringify({ kind: served.definition.kind, apiVersion: served.apiVersion, metadata });
  const apiVersion = `meta.k8s.io/${view.version}`;
  if (view.as !== "Table") return JSON.stringify({ kind: "PartialObjectMetadata", apiVersion, metadata });
  const meta = { resourceVersion: String(version) };
  const row = { cells: [], object: { kind: "PartialObjectMetadata", apiVersion, metadata } };
  return JSON.stringify({ kind: "Table", apiVersion, metadata: meta, columnDefinitions: [], rows: [row] });
}

function tableText(
  presentation: Presentation,
  version: string,
  objects: readonly ApiObject[],
  metadata: ListMeta,
  withHeaders: boolean,
): string {
  const { served, includeObject, tables, now } = presentation;
  const { definition, group } = served;
  const about = { group, version: served.version, kind: definition.kind, name: definition.name };
  const table = tables!(about, objects, { now: now(), includeObject, withHeaders });
  return JSON.stringify({ ...table, kind: "Table", apiVersion: `meta.k8s.io/${version}`, metadata });
}

function partial({ metadata }: ApiObject, version: string): object {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata };
}
