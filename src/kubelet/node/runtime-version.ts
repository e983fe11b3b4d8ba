const version = /^\s*v?(\d+(?:\.\d+)*)(.*)/s;
const identifiers = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const suffix = new RegExp(`^(?:-(${identifiers}))?(?:\\+(${identifiers}))?\\s*$`);

/**
 * The version of a runtime as nodes report it: without a leading "v", with the suffix of a semantic version and without any other
 * ("1.6.20~ds1" of a distribution is 1.6.20). Undefined if it is not a version.
 */
export function runtimeVersion(text: string): string | undefined {
  const [, numbers, rest] = version.exec(text) ?? [];
  if (numbers === undefined || rest === undefined) return undefined;
  const parts = numbers.split(".");
  const [, preRelease, build] = suffix.exec(rest) ?? [];
  if (
    parts.length === 3 &&
    !parts.some(hasZero) &&
    suffix.test(rest) &&
    !preRelease?.split(".").some(hasZero)
  )
    return numbers + (preRelease ? `-${preRelease}` : "") + (build ? `+${build}` : "");
  if (parts.length < 2 || hasZero(parts[0]!)) return undefined;
  return parts.map(Number).join(".");
}

/** A number with a leading zero. */
const hasZero = (part: string) => /^0\d+$/.test(part);
