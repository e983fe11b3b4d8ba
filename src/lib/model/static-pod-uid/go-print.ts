import { goQuantity, goSum, noQuantity } from "./go-quantity.ts";
import { goStructs } from "./go-structs.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * A value with all of its fields and their types, as the reference kubelet prints one to hash it. `written` is the same value
 * as in the manifest: for quantities, their text is used.
 */
export function goPrint(type: string, value: unknown, written: unknown): string {
  return `(${qualified(type)})${content(type, value, written)}`;
}

function content(type: string, value: unknown, written: unknown): string {
  if (type.startsWith("*")) return value === undefined ? "<nil>" : content(type.slice(1), value, written);
  if (type.startsWith("[]")) return list(type.slice(2), value as unknown[] | undefined, written);
  if (type === "ResourceList") return map(value as Fields | undefined, written, resource);
  if (type.startsWith("map[string]")) return map(value as Fields | undefined, written, String);
  if (type === "resource.Quantity")
    return written === undefined ? noQuantity : goQuantity(String(written), false);
  if (type === "intstr.IntOrString") return intOrString(value as string | number | undefined);
  // Only a manifest with a creation time has one, and then it depends on the time zone of the process.
  if (type === "v1.Time")
    return `{Time:(time.Time){wall:(uint64)0 ext:(int64)${value ?? 0} loc:(*time.Location)<nil>}}`;
  const fields = goStructs.get(type);
  return fields ? struct(type, (value ?? {}) as Fields, (written ?? {}) as Fields) : scalar(type, value);
}

function struct(type: string, value: Fields, given: Fields): string {
  // A request that was not written is the limit.
  const written =
    type === "ResourceRequirements" && value.requests
      ? { ...given, requests: { ...(given.limits as Fields), ...(given.requests as Fields) } }
      : given;
  const fields = (goStructs.get(type) ?? []).map(({ name, json, type: of }) => {
    const [inner, innerWritten] = json === "" ? [value, written] : [value[json], written[json]];
    return `${name}:${goPrint(of, inner ?? undefined, innerWritten ?? undefined)}`;
  });
  return `{${fields.join(" ")}}`;
}

function list(type: string, value: unknown[] | undefined, written: unknown): string {
  if (value === undefined) return "<nil>";
  const of = Array.isArray(written) ? written : [];
  return `[${value.map((item, i) => content(type, item, of[i])).join(" ")}]`;
}

function map(
  value: Fields | undefined,
  written: unknown,
  print: (item: unknown, written: unknown) => string,
): string {
  if (value === undefined) return "<nil>";
  const of = (written ?? {}) as Fields;
  const keys = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `map[${keys.map((key) => `${key}:${print(value[key], of[key])}`).join(" ")}]`;
}

function resource(value: unknown, written: unknown): string {
  return Array.isArray(written) ? goSum(written.map(String)) : goQuantity(String(written ?? value), true);
}

function intOrString(value: string | number | undefined): string {
  const [type, number, text] = typeof value === "string" ? [1, 0, value] : [0, value ?? 0, ""];
  return `{Type:(intstr.Type)${type} IntVal:(int32)${number} StrVal:(string)${text}}`;
}

function scalar(type: string, value: unknown): string {
  if (value !== undefined) return String(value);
  if (type === "bool") return "false";
  return /^int(32|64)$/.test(type) ? "0" : "";
}

function qualified(type: string): string {
  const [, prefix = "", name = ""] = /^((?:\*|\[\])*)(.*)/s.exec(type) ?? [];
  return /^[A-Z]/.test(name) ? `${prefix}core.${name}` : type;
}
