import { randomInt } from "node:crypto";

/** The characters of generated names. As upstream, there are no vowels and no ambiguous characters. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxNameLength = 63;

/** How often a name is generated before the client gets an error. */
export const nameAttempts = 8;

export function generatedName(base: string): string {
  let suffix = "";
  for (let i = 0; i < suffixLength; i++) suffix += alphabet[randomInt(alphabet.length)];
  return base.slice(0, maxNameLength - suffixLength) + suffix;
}
