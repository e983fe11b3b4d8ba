/**
 * A value of D-Bus: integers of up to 32 bits and doubles are numbers, integers of 64 bits are bigints, structs and dictionary
 * entries are arrays of their fields, "ay" is a Uint8Array.
 */
export type DBusValue = number | bigint | boolean | string | Uint8Array | Variant | readonly DBusValue[];

/** A value together with its type. */
export interface Variant {
  /** One complete type. */
  readonly signature: string;
  readonly value: DBusValue;
}

export function isObjectPath(text: string): boolean {
  return /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/.test(text);
}
