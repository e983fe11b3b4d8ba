import { amountsOf, milliOf, type ResourceAmounts, wholeOf } from "./resources.ts";

/** One `key="value"` line for each entry, sorted by key. */
export function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.keys(map ?? {})
    .sort((a, b) => (a < b ? -1 : 1))
    .map((key) => `${key}=${quote(map?.[key] ?? "")}`)
    .join("\n");
}

const escapes: Record<string, string> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
};

/** Quoted as the reference kubelet does: C-like escapes, printable text unchanged. */
function quote(text: string): string {
  const escaped = text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (c) => {
    const known = escapes[c];
    if (known) return known;
    const code = c.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 0x10000
      ? `\\u${code.toString(16).padStart(4, "0")}`
      : `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return `"${escaped}"`;
}

export interface ResourceField {
  /** "limits.memory" */
  readonly resource: string;
  readonly divisor?: string;
}

/** A request or limit in units of the divisor, rounded up. Undefined if there is no such field. */
export function resourceFieldText(
  { resource, divisor }: ResourceField,
  amounts: { readonly requests: ResourceAmounts; readonly limits: ResourceAmounts },
): string | undefined {
  const [kind, ...rest] = resource.split(".");
  const name = rest.join(".");
  const known = ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");
  if ((kind !== "limits" && kind !== "requests") || !known) return undefined;
  const read = name === "cpu" ? milliOf : wholeOf;
  const each = read(amountsOf({ [name]: divisor || "1" }), name) || read(amountsOf({ [name]: "1" }), name);
  return String((read(amounts[kind], name) + each - 1n) / each);
}
