import { canonicalQuantity } from "../model/quantity-form.ts";
import { formatDuration } from "./duration.ts";
import { apiVersion, type KubeletConfiguration, kind, kubeletFields } from "./kubelet-configuration.ts";
import type { Field, Fields, Kind } from "./schema.ts";

/** The configuration as /configz shows it: plain JSON data, fields in their usual order, zero values omitted. */
export function encodeConfiguration(config: KubeletConfiguration): Record<string, unknown> {
  return { kind, apiVersion, ...encodeFields(kubeletFields, { ...config }) };
}

function encodeFields(fields: Fields, values: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = values[name];
    if (value === undefined || isOmitted(field, value)) continue;
    result[name] = encodeValue(field.type, value);
  }
  return result;
}

function isOmitted(field: Field, value: unknown): boolean {
  if (field.presence !== "plain") return false;
  if (field.type.kind === "list") return (value as unknown[]).length === 0;
  if (field.type.kind === "map") return Object.keys(value as object).length === 0;
  return !value;
}

function encodeValue(type: Kind, value: unknown): unknown {
  switch (type.kind) {
    case "duration":
      return formatDuration(value as number);
    case "quantity":
      return canonicalQuantity(value as string) ?? value;
    case "list":
      return (value as unknown[]).map((item) => encodeValue(type.of, item));
    case "map":
      return Object.fromEntries(
        Object.entries(value as Record<string, unknown>)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, item]) => [name, encodeValue(type.of, item)]),
      );
    case "object":
      return encodeFields(type.fields, value as Record<string, unknown>);
    default:
      return value;
  }
}
