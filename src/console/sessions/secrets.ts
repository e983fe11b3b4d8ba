import { createHash, randomBytes } from "node:crypto";

/** 256 random bits. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** The hash under which a secret is stored: a lookup by it takes the same time whether or not the secret is almost right. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("base64");
}
