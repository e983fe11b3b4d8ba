import { isIP } from "node:net";
import { labelValue, qualifiedName } from "../../base/name-rules.ts";
import { parseQuantity } from "../../model/quantity.ts";
import { parseDuration } from "../duration.ts";
import { isMemoryResource, taintEffects } from "../names.ts";

/**
 * Reads one occurrence of a flag. `previous` is the value of earlier occurrences; lists and maps grow, other values are
 * replaced.
 */
interface Reader {
  /** The name of the type in help texts. */
  readonly label: string;
  /** The value of a flag that is given without one. */
  readonly impliedValue?: string;
  /** Throws a RangeError that describes the problem. */
  read(text: string, previous: unknown): unknown;
}

const bool: Reader = { label: "bool", impliedValue: "true", read: readBool };

const flagTypes = {
  bool,
  string: { label: "string", read: (text) => text },
  int32: { label: "int32", read: (text) => readInt(text, 32n) },
  int64: { label: "int", read: (text) => readInt(text, 64n) },
  level: { label: "level", read: readLevel },
  duration: { label: "duration", read: (text) => parseDuration(text) ?? fail("is not a duration") },
  quantity: {
    label: "quantity",
    read: (text) => (parseQuantity(text) === undefined ? fail("is not a quantity") : text),
  },
  // An empty address leaves the value of the file.
  ip: {
    label: "ip",
    read: (text) => (text === "" || isIP(text) ? text || undefined : fail("is not an IP address")),
  },
  version: { label: "version", impliedValue: "true", read: readVersion },
  strings: {
    label: "strings",
    read: (text, previous) => [...((previous ?? []) as string[]), ...readCsv(text)],
  },
  map: {
    label: "key=value,…",
    read: (text, previous) => ({ ...(previous ?? {}), ...readMap(split(text), "=") }),
  },
  mapOfOne: {
    label: "key=value",
    read: (text, previous) => ({ ...(previous ?? {}), ...readMap([text], "=") }),
  },
  mapLess: {
    label: "key<value,…",
    read: (text, previous) => ({ ...(previous ?? {}), ...readMap(split(text), "<") }),
  },
  labels: { label: "key=value,…", read: (text, previous) => ({ ...(previous ?? {}), ...readLabels(text) }) },
  gates: { label: "name=bool,…", read: (text, previous) => ({ ...(previous ?? {}), ...readGates(text) }) },
  headers: {
    label: "name:value,…",
    read: (text, previous) => readHeaders(text, (previous ?? {}) as Headers),
  },
  taints: { label: "key=value:effect,…", read: readTaints },
  reservedMemory: {
    label: "node:type=size,…",
    read: (text, previous) => [...((previous ?? []) as unknown[]), ...readReserved(text)],
  },
  vmodule: {
    label: "pattern=N,…",
    read: (text, previous) => [...((previous ?? []) as unknown[]), ...readVmodule(text)],
  },
} as const satisfies Record<string, Reader>;

export type FlagType = keyof typeof flagTypes;

export function readerOf(type: FlagType): Reader {
  return flagTypes[type];
}

type Headers = Record<string, string[]>;

function fail(message: string): never {
  throw new RangeError(message);
}

function readBool(text: string): boolean {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
  return fail("is neither true nor false");
}

/** Decimal, 0x, 0o, 0b and, for compatibility, a leading 0 for octal; "_" between digits after a prefix. */
function readInt(text: string, bits: bigint): number {
  const [, sign = "", digits = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  const plain = /^0[\dxXoObB_]/.test(digits) ? digits.replaceAll("_", "") : digits;
  const octal = /^0([0-7]+)$/.exec(plain)?.[1];
  const known = /^(?:0|[1-9]\d*|0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/.test(plain);
  if (!known && octal === undefined) fail("is not a whole number");
  const size = BigInt(octal === undefined ? plain : `0o${octal}`);
  const value = sign === "-" ? -size : size;
  const limit = 1n << (bits - 1n);
  if (value >= limit || value < -limit) fail(`is out of range for an int${bits}`);
  if (!Number.isSafeInteger(Number(value))) fail("is too large");
  return Number(value);
}

function readLevel(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) >= 2 ** 31) fail("is not a verbosity level");
  return Number(text);
}

function readVersion(text: string): string {
  if (text === "raw" || /^v\d+\.\d+\.\d+/.test(text)) return text;
  return readBool(text) ? "true" : "";
}

/** A comma-separated line in which values may be in double quotes. */
function readCsv(text: string): string[] {
  if (text === "") return [];
  const values: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|$)/y;
  for (let more = true; more; ) {
    const match = cell.exec(text);
    if (!match) return fail("has a stray double quote");
    values.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    more = match[3] === ",";
  }
  return values;
}

function split(text: string): string[] {
  return text.split(",").filter((part) => part !== "");
}

/** Splits at the first separator. */
function pair(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  if (at < 0) return fail(`must consist of key${separator}value pairs, ${JSON.stringify(text)} is not one`);
  return [text.slice(0, at).trim(), text.slice(at + separator.length).trim()];
}

function readMap(parts: string[], separator: string): Record<string, string> {
  return Object.fromEntries(parts.map((part) => pair(part, separator)));
}

function readLabels(text: string): Record<string, string> {
  return readMap(
    split(text).map((label) => (label.includes("=") ? label : `${label}=`)),
    "=",
  );
}

function readGates(text: string): Record<string, boolean> {
  return Object.fromEntries(
    Object.entries(readMap(split(text), "=")).map(([name, value]) => {
      try {
        return [name, readBool(value)];
      } catch {
        return fail(`sets ${name} to ${JSON.stringify(value)}, which is neither true nor false`);
      }
    }),
  );
}

function readHeaders(text: string, previous: Headers): Headers {
  const headers: Headers = { ...previous };
  for (const part of split(text)) {
    const [name, value] = pair(part, ":");
    headers[name] = [...(headers[name] ?? []), value];
  }
  return headers;
}

function readTaints(text: string): unknown[] {
  const seen = new Set<string>();
  if (text === "") return [];
  return text.split(",").flatMap((taint) => {
    const match = /^([^:=]*)(?:=([^:=]*))?(?::([^:]*))?$/.exec(taint);
    const [, key = "", value = "", effect = ""] = match ?? [];
    const shown = JSON.stringify(taint);
    if (!match) return fail(`must consist of key=value:effect entries, ${shown} is not one`);
    const [message] = [...qualifiedName(key), ...labelValue(value)];
    if (message !== undefined) return fail(`has ${shown}: ${message}`);
    if (!taintEffects.includes(effect))
      return fail(`has ${shown}, whose effect is not one of ${taintEffects.join(", ")}`);
    if (seen.has(`${key}:${effect}`)) return fail(`has ${key}:${effect} twice`);
    seen.add(`${key}:${effect}`);
    return { key, value, effect };
  });
}

function readReserved(text: string): { numaNode: number; limits: Record<string, string> }[] {
  if (text === "") return [];
  const [node = "", list, ...more] = text.split(":");
  if (list === undefined || more.length > 0 || !/^\d+$/.test(node))
    return fail("must look like 0:memory=1Gi,hugepages-2Mi=512Mi");
  const limits = readMap(list.split(","), "=");
  for (const [type, size] of Object.entries(limits)) {
    if (!isMemoryResource(type))
      fail(`names ${JSON.stringify(type)}, which is neither "memory" nor "hugepages-<size>"`);
    if (parseQuantity(size) === undefined) fail(`has ${JSON.stringify(size)}, which is not a quantity`);
  }
  return [{ numaNode: Number(node), limits }];
}

function readVmodule(text: string): { filePattern: string; verbosity: number }[] {
  return split(text).map((part) => {
    const match = /^([^=]+)=(\d+)$/.exec(part);
    if (!match) return fail(`must consist of pattern=N entries, ${JSON.stringify(part)} is not one`);
    return { filePattern: match[1] ?? "", verbosity: readLevel(match[2] ?? "") };
  });
}
