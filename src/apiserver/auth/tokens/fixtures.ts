import { randomBytes } from "node:crypto";
import type { NewObject } from "../../definition.ts";

/** A new token, and the secret that makes it valid until then. */
export function bootstrapToken(o: { expires?: Date; description?: string }): {
  readonly token: string;
  readonly secret: NewObject;
} {
  const [id, secret] = [randomText(6), randomText(16)];
  const fields: Record<string, string> = {
    "token-id": id,
    "token-secret": secret,
    "usage-bootstrap-authentication": "true",
    ...(o.expires && { expiration: o.expires.toISOString().replace(/\.\d+Z$/, "Z") }),
    ...(o.description && { description: o.description }),
  };
  const data = Object.fromEntries(
    Object.entries(fields).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  return {
    token: `${id}.${secret}`,
    secret: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
      type: "bootstrap.kubernetes.io/token",
      data,
    },
  };
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

function randomText(length: number): string {
  let text = "";
  // Larger bytes are skipped: a remainder of the alphabet would make its first letters more likely.
  while (text.length < length)
    for (const byte of randomBytes(length)) if (byte < 252) text += letters[byte % letters.length];
  return text.slice(0, length);
}
