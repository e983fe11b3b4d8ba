import { createHash } from "node:crypto";
import type { Credential } from "./docker-config.ts";

/** The API object that a credential comes from. */
export interface CredentialSource {
  readonly kind: "secret" | "serviceAccount";
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A credential of a pod or, without a source, one that every pod of the node may use. */
export interface TrackedCredential extends Credential {
  readonly source?: CredentialSource;
}

/** Identifies a credential in records. Equal to upstream's, so that records remain valid when the reference kubelet takes over the node. */
export function credentialHash({ username, password, email }: Credential): string {
  const fields = {
    username: username || undefined,
    password: password || undefined,
    email: email || undefined,
  };
  return createHash("sha256").update(goJson(fields)).digest("hex");
}

/** JSON as Go's encoder writes it, with HTML characters escaped. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
