/**
 * Kubernetes quantities ("100m", "64Mi", "1.5e3") in nano units, as a bigint: exact, and no finer than
 * Kubernetes itself keeps them.
 */
const nano = 1_000_000_000n;

const scale: Record<string, bigint> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  "": nano,
  k: nano * 1_000n,
  M: nano * 1_000_000n,
  G: nano * 1_000_000_000n,
  T: nano * 10n ** 12n,
  P: nano * 10n ** 15n,
  E: nano * 10n ** 18n,
  Ki: nano << 10n,
  Mi: nano << 20n,
  Gi: nano << 30n,
  Ti: nano << 40n,
  Pi: nano << 50n,
  Ei: nano << 60n,
};

/** No quantity is larger than a signed 64-bit number of units. */
const largest = ((1n << 63n) - 1n) * nano;

/** Exponents beyond this are out of range. */
const maxPower = 40;

const syntax = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/;

/** The quantity in nano units, rounded away from zero; undefined if it is not a quantity. */
export function parseQuantity(text: string | number): bigint | undefined {
  const match = syntax.exec(String(text));
  if (!match) return undefined;
  const [, sign, number = "", exponent, suffix = ""] = match;
  const [whole = "", fraction = ""] = number.split(".");
  let numerator = BigInt(whole + fraction || "0") * (scale[suffix] ?? nano);
  let denominator = 10n ** BigInt(fraction.length);
  if (exponent) {
    const power = Number(exponent.slice(1));
    if (power > 0) numerator *= 10n ** BigInt(Math.min(power, maxPower + fraction.length));
    else denominator *= 10n ** BigInt(Math.min(-power, maxPower + whole.length));
  }
  let value = ceilDivide(numerator, denominator);
  if (value > largest) value = largest;
  return sign === "-" ? -value : value;
}

function quantity(text: string | number): bigint {
  const value = parseQuantity(text);
  if (value === undefined) throw new RangeError(`"${text}" is not a quantity`);
  return value;
}

/** Whole units (bytes, cores), rounded up. */
export function wholeUnits(text: string | number): bigint {
  return ceilDivide(quantity(text), nano);
}

export function compareQuantities(a: string | number, b: string | number): number {
  const difference = quantity(a) - quantity(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function ceilDivide(a: bigint, b: bigint): bigint {
  const q = a / b;
  if (a % b === 0n) return q;
  return a > 0n ? q + 1n : q - 1n;
}
