import { KubeletError } from "../../../lib/base/errors.ts";

export interface Credential {
  username: string;
  password: string;
  /** Not sent to registries, but part of the credential's hash. */
  email?: string;
}

/** Credentials by registry (a host, perhaps with a path), in the order of the file. */
export type DockerConfig = readonly (readonly [registry: string, credential: Credential])[];

/** The newer format: `{"auths": {registry: entry}}`. */
export function parseDockerConfigJson(text: string): DockerConfig {
  return entriesOf(objectOf(parse(text), "the document").auths, "auths");
}

/** The older format: `{registry: entry}`. */
export function parseDockerCfg(text: string): DockerConfig {
  return entriesOf(parse(text), "the document");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the file, and with it passwords.
    throw invalid("it is not JSON");
  }
}

function entriesOf(value: unknown, where: string): DockerConfig {
  if (value === undefined || value === null) return [];
  return Object.entries(objectOf(value, where)).map(([registry, entry]) => [
    registry,
    credentialOf(entry, registry),
  ]);
}

function credentialOf(value: unknown, registry: string): Credential {
  if (value === null) return { username: "", password: "" };
  const entry = objectOf(value, registry);
  const text = (key: string) => {
    const found = entry[key] ?? "";
    if (typeof found !== "string") throw invalid(`${key} of ${registry} is not a string`);
    return found;
  };
  const [username, password, auth, email] = [text("username"), text("password"), text("auth"), text("email")];
  return { ...(auth ? decodeAuth(auth, registry) : { username, password }), ...(email && { email }) };
}

/** base64("name:password"), with or without padding. */
function decodeAuth(auth: string, registry: string): Credential {
  const encoded = auth.replace(/[\r\n]/g, "");
  const bare = encoded.replace(/={0,2}$/, "");
  const padded = encoded !== bare;
  if (!/^[A-Za-z0-9+/]*$/.test(bare) || bare.length % 4 === 1 || (padded && encoded.length % 4 !== 0))
    throw invalid(`auth of ${registry} is not base64`);
  const decoded = Buffer.from(bare, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  if (colon < 0) throw invalid(`auth of ${registry} is not base64(username:password)`);
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function objectOf(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(`${where} is not an object`);
  return value as Record<string, unknown>;
}

function invalid(why: string): KubeletError {
  return new KubeletError("DockerConfig", `registry credentials cannot be read: ${why}`);
}
