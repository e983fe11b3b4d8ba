import { StoreError } from "./errors.ts";

/** The position of the next page of a list, and the version of the list. */
export interface ContinueToken {
  /** "latest": the list continues with the current state, because its version is compacted. */
  readonly version: number | "latest";
  readonly after: Position;
}

/** The last object of a page. */
export interface Position {
  readonly namespace: string;
  readonly name: string;
}

export function encodeContinue(token: ContinueToken): string {
  const { version, after } = token;
  const fields = { v: 1, rv: version === "latest" ? -1 : version, after: [after.namespace, after.name] };
  return Buffer.from(JSON.stringify(fields)).toString("base64url");
}

export function decodeContinue(text: string): ContinueToken {
  let fields: { v?: unknown; rv?: unknown; after?: unknown } | null;
  try {
    fields = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch (cause) {
    throw notValid(cause);
  }
  if (fields?.v !== 1 || !Number.isSafeInteger(fields.rv) || !Array.isArray(fields.after)) throw notValid();
  const rv = fields.rv as number;
  const [namespace, name, ...more] = fields.after as unknown[];
  if (rv < -1 || typeof namespace !== "string" || typeof name !== "string" || more.length > 0)
    throw notValid();
  return { version: rv === -1 ? "latest" : rv, after: { namespace, name } };
}

function notValid(cause?: unknown): StoreError {
  return new StoreError("BadRequest", "continue key is not valid", { cause });
}
