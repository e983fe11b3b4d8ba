import { parseQuantity } from "./quantity.ts";

type Form = "binary" | "decimal" | "exponent";

const decimalSteps: [string, bigint][] = [
  ["E", 10n ** 27n],
  ["P", 10n ** 24n],
  ["T", 10n ** 21n],
  ["G", 10n ** 18n],
  ["M", 10n ** 15n],
  ["k", 10n ** 12n],
  ["", 10n ** 9n],
  ["m", 10n ** 6n],
  ["u", 10n ** 3n],
  ["n", 1n],
];
const binarySteps: [string, bigint][] = ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki"].map((suffix, i) => [
  suffix,
  (1n << BigInt(60 - 10 * i)) * 10n ** 9n,
]);

function formOf(text: string): Form {
  if (text.endsWith("i")) return "binary";
  return /[eE][+-]?\d+$/.test(text) ? "exponent" : "decimal";
}

/** Formats nano units as the API server does: with the largest suffix that leaves a whole number. */
export function formatQuantity(nano: bigint, form: Form = "decimal"): string {
  if (nano === 0n) return "0";
  const magnitude = nano < 0n ? -nano : nano;
  if (form === "binary" && magnitude >= 1024n * 10n ** 9n) {
    // Bytes are rounded up.
    const whole =
      nano -
      (nano % 10n ** 9n) +
      (nano % 10n ** 9n > 0n ? 10n ** 9n : nano % 10n ** 9n < 0n ? -(10n ** 9n) : 0n);
    const [suffix, unit] = binarySteps.find(([, step]) => whole % step === 0n) ?? ["", 10n ** 9n];
    return `${whole / unit}${suffix}`;
  }
  const [suffix, unit] = decimalSteps.find(([, step]) => nano % step === 0n) ?? ["n", 1n];
  if (form !== "exponent") return `${nano / unit}${suffix}`;
  const power = unit.toString().length - 1 - 9;
  return power === 0 ? String(nano / unit) : `${nano / unit}e${power}`;
}

/** The canonical form of a quantity ("0.5" and "500m" are the same); undefined if it is invalid. */
export function canonicalQuantity(text: string | number): string | undefined {
  const nano = parseQuantity(text);
  return nano === undefined ? undefined : formatQuantity(nano, formOf(String(text)));
}

/** Returns `canonicalQuantity`, rounded up to thousandths: the API keeps no finer resources. */
export function roundedToMilli(text: string | number): string {
  const nano = parseQuantity(text) ?? 0n;
  const rest = nano % 1_000_000n;
  if (rest === 0n) return canonicalQuantity(text) ?? "0";
  return formatQuantity(nano - rest + (nano > 0n ? 1_000_000n : 0n), formOf(String(text)));
}
