import { KubeletError } from "../../base/errors.ts";

export type BasicCode = "y" | "b" | "n" | "q" | "i" | "u" | "x" | "t" | "d" | "s" | "o" | "g" | "h";

/** One complete type of a signature. A file descriptor ("h") is its position in the list that comes with the message. */
export type DBusType =
  | { readonly code: BasicCode | "v" }
  | { readonly code: "a"; readonly element: DBusType }
  | { readonly code: "("; readonly fields: readonly DBusType[] }
  /** An entry of a dictionary; only as the element of an array. */
  | { readonly code: "{"; readonly fields: readonly [DBusType, DBusType] };

const basic = new Set("ybnqiuxtdsogh");
const maxLength = 255;
/** The limit of the specification for nested arrays, and for nested structs. */
const maxDepth = 32;

const parsed = new Map<string, readonly DBusType[]>();
/** Signatures come from the peer, too: the cache must not grow without bounds. */
const cacheSize = 256;

/** "sa(sv)" as its complete types. */
export function parseSignature(signature: string): readonly DBusType[] {
  const known = parsed.get(signature);
  if (known) return known;
  if (signature.length > maxLength) throw invalid(signature, `more than ${maxLength} characters`);
  const types: DBusType[] = [];
  for (let at = 0; at < signature.length; ) {
    const one = parseOne(signature, at, 0, 0);
    types.push(one.type);
    at = one.end;
  }
  if (parsed.size >= cacheSize) parsed.clear();
  parsed.set(signature, types);
  return types;
}

function parseOne(
  text: string,
  at: number,
  arrays: number,
  structs: number,
): { type: DBusType; end: number } {
  const code = text[at];
  if (code === undefined) throw invalid(text, "incomplete");
  if (basic.has(code) || code === "v") return { type: { code: code as BasicCode | "v" }, end: at + 1 };
  if (code === "a") {
    if (arrays >= maxDepth) throw invalid(text, "arrays are nested too deeply");
    if (text[at + 1] === "{") return parseDictionary(text, at + 2, arrays + 1, structs);
    const { type, end } = parseOne(text, at + 1, arrays + 1, structs);
    return { type: { code: "a", element: type }, end };
  }
  if (code !== "(") throw invalid(text, `unknown type "${code}"`);
  if (structs >= maxDepth) throw invalid(text, "structs are nested too deeply");
  const fields: DBusType[] = [];
  let end = at + 1;
  while (text[end] !== ")") {
    const field = parseOne(text, end, arrays, structs + 1);
    fields.push(field.type);
    end = field.end;
  }
  if (fields.length === 0) throw invalid(text, "empty struct");
  return { type: { code: "(", fields }, end: end + 1 };
}

function parseDictionary(text: string, at: number, arrays: number, structs: number) {
  if (structs >= maxDepth) throw invalid(text, "structs are nested too deeply");
  const key = parseOne(text, at, arrays, structs + 1);
  if (!basic.has(key.type.code)) throw invalid(text, "the key of a dictionary has to be a basic type");
  const value = parseOne(text, key.end, arrays, structs + 1);
  if (text[value.end] !== "}") throw invalid(text, "a dictionary has one key and one value");
  const element: DBusType = { code: "{", fields: [key.type, value.type] };
  return { type: { code: "a", element } as const, end: value.end + 1 };
}

/** The boundary on which a value of the type begins. */
export function alignmentOf({ code }: DBusType): 1 | 2 | 4 | 8 {
  switch (code) {
    case "y":
    case "g":
    case "v":
      return 1;
    case "n":
    case "q":
      return 2;
    case "b":
    case "i":
    case "u":
    case "s":
    case "o":
    case "a":
    case "h":
      return 4;
    default:
      return 8;
  }
}

function invalid(signature: string, why: string): KubeletError {
  return new KubeletError("InvalidDBusData", `D-Bus signature "${signature}": ${why}`);
}
