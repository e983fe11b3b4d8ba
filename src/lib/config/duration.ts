/** Milliseconds, with fractions down to a nanosecond. */
export type Milliseconds = number;

const nanosecondsPer: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n, // U+00B5
  μs: 1_000n, // U+03BC
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const longest = 2n ** 63n - 1n;
/** The two micro signs are escaped: a bundle with a character beyond Latin-1 takes twice the memory. */
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/** Reads "1m30s", "100ms", "1.5h", "0"; undefined if the text is not a duration. */
export function parseDuration(text: string): Milliseconds | undefined {
  const sign = text.startsWith("-") ? -1n : 1n;
  const body = text.replace(/^[+-]/, "");
  if (body === "0") return 0;
  if (body === "") return undefined;
  let total = 0n;
  part.lastIndex = 0;
  while (part.lastIndex < body.length) {
    const match = part.exec(body);
    if (!match) return undefined;
    const [, number = "", unit = ""] = match;
    const [whole = "", fraction = ""] = number.split(".");
    const scale = nanosecondsPer[unit] ?? 0n;
    total += BigInt(whole || "0") * scale;
    total += (BigInt(fraction || "0") * scale) / 10n ** BigInt(fraction.length);
    if (total > longest) return undefined;
  }
  return toMilliseconds(sign * total);
}

/** Whole nanoseconds, which the log flush period also accepts. */
export function fromNanoseconds(ns: number): Milliseconds {
  return toMilliseconds(BigInt(ns));
}

function toMilliseconds(ns: bigint): Milliseconds {
  return Number(ns / 1_000_000n) + Number(ns % 1_000_000n) / 1e6;
}

/** Writes a duration the way Kubernetes does: "1m0s", "100ms", "4h0m0s". */
export function formatDuration(duration: Milliseconds): string {
  const whole = Math.trunc(duration);
  const signed = BigInt(whole) * 1_000_000n + BigInt(Math.round((duration - whole) * 1e6));
  const sign = signed < 0n ? "-" : "";
  const ns = signed < 0n ? -signed : signed;
  if (ns === 0n) return "0s";
  if (ns < 1_000n) return `${sign}${ns}ns`;
  if (ns < 1_000_000n) return `${sign}${decimal(ns, 3)}µs`;
  if (ns < 1_000_000_000n) return `${sign}${decimal(ns, 6)}ms`;
  const hours = ns / 3_600_000_000_000n;
  const minutes = (ns / 60_000_000_000n) % 60n;
  const seconds = `${decimal(ns % 60_000_000_000n, 9)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

function decimal(value: bigint, digitCount: number): string {
  const digits = value.toString().padStart(digitCount + 1, "0");
  const fraction = digits.slice(-digitCount).replace(/0+$/, "");
  return digits.slice(0, -digitCount) + (fraction ? `.${fraction}` : "");
}
