const suffixes: Readonly<Record<string, readonly [base: 2 | 10, exponent: number]>> = {
  n: [10, -9],
  u: [10, -6],
  m: [10, -3],
  "": [10, 0],
  k: [10, 3],
  M: [10, 6],
  G: [10, 9],
  T: [10, 12],
  P: [10, 15],
  E: [10, 18],
  Ki: [2, 10],
  Mi: [2, 20],
  Gi: [2, 30],
  Ti: [2, 40],
  Pi: [2, 50],
  Ei: [2, 60],
};
const syntax = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+)|([numkMGTPE]i?|Ki)?)$/;
const largest = (1n << 63n) - 1n;

/** The internal form of a quantity in the reference kubelet: it depends on the notation, not only on the amount. */
interface InternalQuantity {
  readonly value: bigint;
  readonly scale: number;
  /** The text, if it is canonical. */
  readonly text: string;
  readonly format: string;
  /** A number of arbitrary size (inf.Dec) instead of a 64-bit number with an exponent. */
  readonly isBig: boolean;
}

/** An empty text. */
export const noQuantity = printed({ value: 0n, scale: 0, text: "", format: "", isBig: false });

/** A quantity as it is printed with all of its fields. In lists of resources it is rounded up to thousandths. */
export function goQuantity(text: string, isRounded: boolean): string {
  const internalForm = parse(text.trim());
  return printed(isRounded ? rounded(internalForm) : internalForm);
}

/** The sum of quantities in a list of resources. The sum of several quantities does not keep their original text. */
export function goSum(texts: readonly string[]): string {
  const [first, ...others] = texts.map(parse);
  return printed(rounded(others.reduce(added, first ?? parse("0"))));
}

function added(a: InternalQuantity, b: InternalQuantity): InternalQuantity {
  const format = a.value === 0n ? b.format : a.format;
  if (!a.isBig && !b.isBig) {
    if (b.value === 0n) return { ...a, text: "", format };
    if (a.value === 0n) return { ...b, text: "", format };
  }
  const scale = Math.min(a.scale, b.scale);
  const of = (internalForm: InternalQuantity) => internalForm.value * powerOfTen(internalForm.scale - scale);
  return { value: of(a) + of(b), scale, text: "", format, isBig: a.isBig || b.isBig };
}

function parse(text: string): InternalQuantity {
  if (text === "0") return { value: 0n, scale: 0, text, format: "DecimalSI", isBig: false };
  const [, sign, digits = "", fraction = "", power, suffix = ""] = syntax.exec(text) ?? [];
  const whole = digits.replace(/^0+/, "") || "0";
  const [base, exponent] =
    power === undefined ? (suffixes[suffix] ?? [10, 0]) : ([10, Number(power)] as const);
  const format = power !== undefined ? "DecimalExponent" : base === 2 ? "BinarySI" : "DecimalSI";
  const shifted = whole + fraction;
  const signed = (value: bigint) => (sign === "-" ? -value : value);
  const precision =
    base === 10
      ? 18 - shifted.length
      : fraction === ""
        ? 15 - whole.length - Math.trunc((exponent * 3) / 10) - 1
        : -1;
  const scale = (base === 10 ? exponent : 0) - fraction.length;
  if (precision < 0 || scale < -9) return { ...big(signed, shifted, fraction, base, exponent), format };
  const number = BigInt(shifted);
  const isCanonical =
    base === 2
      ? exponent % 10 === 0 && (number & 7n) !== 0n
      : scale % 3 === 0 && !shifted.endsWith("000") && !shifted.startsWith("0");
  const value = signed(base === 2 ? number << BigInt(exponent) : number);
  return { value, scale, text: isCanonical ? text : "", format, isBig: false };
}

/** Kept in nano units, rounded up. */
function big(
  signed: (value: bigint) => bigint,
  shifted: string,
  fraction: string,
  base: 2 | 10,
  exponent: number,
): Omit<InternalQuantity, "format"> {
  const unscaled = base === 2 ? BigInt(shifted) << BigInt(exponent) : BigInt(shifted);
  const scale = (base === 10 ? exponent : 0) - fraction.length;
  const nano = atScale(unscaled, scale, -9);
  const capped =
    base === 2 && nano > largest * 10n ** 9n ? { value: largest, scale: 0 } : { value: nano, scale: -9 };
  return { ...capped, value: signed(capped.value), text: "", isBig: true };
}

function rounded(internalForm: InternalQuantity): InternalQuantity {
  if (!internalForm.isBig && internalForm.scale >= -3) return internalForm;
  const size = internalForm.value < 0n ? -internalForm.value : internalForm.value;
  const value = atScale(size, internalForm.scale, -3);
  return { ...internalForm, value: internalForm.value < 0n ? -value : value, scale: -3, text: "" };
}

/** The same amount with another exponent, rounded up. */
function atScale(value: bigint, from: number, to: number): bigint {
  if (from >= to) return value * powerOfTen(from - to);
  const unit = powerOfTen(to - from);
  return (value + unit - 1n) / unit;
}

function printed({ value, scale, text, format, isBig }: InternalQuantity): string {
  const small = isBig ? { value: 0n, scale: 0 } : { value, scale };
  const dec = isBig
    ? `{unscaled:(big.Int){neg:(bool)${value < 0n} abs:(big.nat)[${limbs(value).join(" ")}]} scale:(inf.Scale)${-scale}}`
    : "<nil>";
  return (
    `{i:(resource.int64Amount){value:(int64)${small.value} scale:(resource.Scale)${small.scale}}` +
    ` d:(resource.infDecAmount){Dec:(*inf.Dec)${dec}} s:(string)${text} Format:(resource.Format)${format}}`
  );
}

/** No amount is larger; an exponent has no limit. */
const maxPower = 100_000;

function powerOfTen(exponent: number): bigint {
  return 10n ** BigInt(Math.min(exponent, maxPower));
}

/** The value in limbs of 64 bits, the lowest first. */
function limbs(value: bigint): bigint[] {
  if (value === 0n) return [];
  const text = (value < 0n ? -value : value).toString(16);
  const found: bigint[] = [];
  for (let end = text.length; end > 0; end -= 16)
    found.push(BigInt(`0x${text.slice(Math.max(end - 16, 0), end)}`));
  return found;
}
