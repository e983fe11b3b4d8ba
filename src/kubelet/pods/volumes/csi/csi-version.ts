import { KubeletError } from "../../../../lib/base/errors.ts";

export type CsiVersion = readonly number[];

const pattern = /^v?(\d+(?:\.\d+)+)/;

/** The highest 1.x version that a driver supports. */
export function highestVersion(versions: readonly string[]): CsiVersion {
  let highest: CsiVersion | undefined;
  let unreadable: string | undefined;
  for (const text of versions.toReversed()) {
    const version = parseVersion(text);
    if (!version) unreadable = `could not parse "${text}" as version`;
    else if (version[0]! <= 1 && (!highest || isOlder(highest, version))) highest = version;
  }
  const all = versions.join(" ");
  if (!highest) {
    throw new KubeletError(
      "CsiVersion",
      `could not find a highest supported version from versions ([${all}]) reported: ${unreadable ?? "<nil>"}`,
    );
  }
  if (highest[0] !== 1) {
    const message = `highest supported version reported is ${showVersion(highest)}, must be v1.x`;
    throw new KubeletError("CsiVersion", message);
  }
  return highest;
}

export function isOlder(a: CsiVersion, b: CsiVersion): boolean {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

export function showVersion(version: CsiVersion): string {
  return version.join(".");
}

function parseVersion(text: string): CsiVersion | undefined {
  const match = pattern.exec(text.trim());
  return match?.[1]?.split(".").map(Number);
}
