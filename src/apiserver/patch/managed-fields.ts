import { FieldSet } from "./field-set.ts";
import { isObject, type Json, type JsonObject } from "./json-value.ts";
import { compareText } from "./text-order.ts";

/** One entry of metadata.managedFields: a manager, its fields, and the operation. */
export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  /** The time in the form of the API; undefined if it is not known. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

export type ManagerId = string;
export type Managers = ReadonlyMap<ManagerId, Manager>;

/** An applier is the same manager regardless of the version that it applies; an updater is not. */
export function managerId(manager: Omit<Manager, "fields" | "time">): ManagerId {
  const { name, operation, subresource } = manager;
  return JSON.stringify([name, operation, operation === "Apply" ? "" : manager.apiVersion, subresource]);
}

/** Throws if an entry cannot be read. */
export function decodeManagers(list: Json | undefined): Managers {
  const out = new Map<ManagerId, Manager>();
  if (!Array.isArray(list)) return out;
  for (const entry of list) {
    const manager = decodeManager(entry);
    out.set(managerId(manager), manager);
  }
  return out;
}

function decodeManager(entry: Json): Manager {
  if (!isObject(entry)) throw new Error("an entry of managedFields is not an object");
  const { operation } = entry;
  if (operation !== "Apply" && operation !== "Update")
    throw new Error(`operation of managedFields is ${JSON.stringify(operation ?? "")}`);
  return {
    name: text(entry.manager),
    operation,
    apiVersion: text(entry.apiVersion),
    subresource: text(entry.subresource),
    time: typeof entry.time === "string" ? entry.time : undefined,
    fields: FieldSet.fromJson(entry.fieldsV1 ?? {}),
  };
}

/** The entries that own something: appliers first, then by time and name. */
function encodeManagers(managers: Managers): JsonObject[] {
  return [...managers.values()]
    .filter((manager) => !manager.fields.empty)
    .sort(byAge)
    .map(encodeManager);
}

function encodeManager(manager: Manager): JsonObject {
  return {
    apiVersion: manager.apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1: manager.fields.toJson(),
    manager: manager.name,
    operation: manager.operation,
    ...(manager.subresource ? { subresource: manager.subresource } : {}),
    ...(manager.time ? { time: manager.time } : {}),
  };
}

export function byAge(left: Manager, right: Manager): number {
  return (
    compareText(left.operation, right.operation) ||
    seconds(left) - seconds(right) ||
    compareText(left.name, right.name) ||
    compareText(left.apiVersion, right.apiVersion) ||
    compareText(left.subresource, right.subresource)
  );
}

function seconds({ time }: Manager): number {
  return time ? Math.floor(Date.parse(time) / 1000) || 0 : 0;
}

/** The wire form has whole seconds. */
export function wireTime(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The object with other managedFields, or without any. The rest of it is shared. */
export function withManagers(object: JsonObject, managers: Managers): JsonObject {
  const { managedFields: _, ...metadata } = isObject(object.metadata) ? object.metadata : {};
  const entries = encodeManagers(managers);
  return { ...object, metadata: entries.length > 0 ? { ...metadata, managedFields: entries } : metadata };
}

export function managedFieldsOf(object: JsonObject | undefined): Json | undefined {
  return isObject(object?.metadata) ? object.metadata.managedFields : undefined;
}
