import { parseQuantity } from "../model/quantity.ts";

const decimalSuffix = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The one spelling that Kubernetes gives a quantity ("1024Mi" is "1Gi", "0.5" is "500m"); undefined if it is none. */
export function canonicalQuantity(text: string | number): string | undefined {
  const nanos = parseQuantity(text);
  if (nanos === undefined) return undefined;
  const spelled = String(text);
  if (/i$/.test(spelled)) return binary(nanos);
  if (/[eE][+-]?\d/.test(spelled)) return withExponent(nanos);
  return decimal(nanos);
}

/** Divides by `base` as often as it goes without a rest, at most `limit` times. */
function reduce(value: bigint, base: bigint, limit: number): { mantissa: bigint; steps: number } {
  let mantissa = value;
  let steps = 0;
  while (mantissa !== 0n && steps < limit && mantissa % base === 0n) {
    mantissa /= base;
    steps++;
  }
  return { mantissa, steps };
}

function decimal(nanos: bigint): string {
  if (nanos === 0n) return "0";
  const { mantissa, steps } = reduce(nanos, 1000n, decimalSuffix.length - 1);
  return `${mantissa}${decimalSuffix[steps]}`;
}

function withExponent(nanos: bigint): string {
  if (nanos === 0n) return "0";
  const { mantissa, steps } = reduce(nanos, 1000n, Number.POSITIVE_INFINITY);
  const exponent = steps * 3 - 9;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}

function binary(nanos: bigint): string {
  const one = 1_000_000_000n;
  if (nanos < 1024n * one && nanos > -1024n * one) return decimal(nanos);
  const rest = nanos % one;
  const units = nanos / one + (rest > 0n ? 1n : rest < 0n ? -1n : 0n);
  const { mantissa, steps } = reduce(units, 1024n, binarySuffix.length - 1);
  return `${mantissa}${binarySuffix[steps]}`;
}
