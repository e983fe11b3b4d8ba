import { isObject } from "../../../../lib/base/json-value.ts";
import { parseDuration } from "../../../../lib/config/duration.ts";
import type { DockerConfig } from "../docker-config.ts";
import type { RequestVersion } from "./load-providers.ts";

export interface ProviderRequest {
  readonly image: string;
  /** A token of the pod's service account, if the plugin is configured for one. */
  readonly token?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export type CacheKeyType = "Image" | "Registry" | "Global";

export interface ProviderResponse {
  readonly cacheKeyType: CacheKeyType;
  /** Undefined: as configured. */
  readonly cacheMs: number | undefined;
  readonly auth: DockerConfig;
}

export function encodeRequest(
  apiVersion: RequestVersion,
  { image, token, annotations }: ProviderRequest,
): string {
  const hasAnnotations = annotations !== undefined && Object.keys(annotations).length > 0;
  const request = {
    kind: "CredentialProviderRequest",
    apiVersion,
    image,
    ...(token && { serviceAccountToken: token }),
    ...(hasAnnotations && { serviceAccountAnnotations: annotations }),
  };
  return `${JSON.stringify(request)}\n`;
}

/** No message quotes the response: it contains credentials. */
export function decodeResponse(apiVersion: RequestVersion, text: string): ProviderResponse {
  const response = parse(text);
  if (response.apiVersion !== apiVersion)
    throw new Error(
      `apiVersion from credential plugin response did not match expected apiVersion:${apiVersion}, actual apiVersion:${safeText(response.apiVersion)}`,
    );
  const { kind, cacheKeyType, cacheDuration, auth } = response;
  if (kind !== "CredentialProviderResponse") throw bad("kind");
  onlyFields(response, ["kind", "apiVersion", "cacheKeyType", "cacheDuration", "auth"]);
  if (cacheKeyType !== "Image" && cacheKeyType !== "Registry" && cacheKeyType !== "Global")
    throw new Error(
      `credential provider plugin did not return a valid cacheKeyType: ${safeText(cacheKeyType)}`,
    );
  return { cacheKeyType, cacheMs: cacheMs(cacheDuration), auth: authOf(auth) };
}

function parse(text: string): Record<string, unknown> {
  try {
    const response: unknown = JSON.parse(text);
    if (isObject(response)) return response;
  } catch {
    // The parser would quote the text.
  }
  throw new Error("error reading GVK from response: it is not an object in JSON");
}

function cacheMs(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms === undefined) throw bad("cacheDuration");
  return ms;
}

function authOf(value: unknown): DockerConfig {
  if (value === undefined || value === null) return [];
  if (!isObject(value)) throw bad("auth");
  return Object.entries(value).map(([registry, entry]) => {
    if (entry === null) return [registry, { username: "", password: "" }];
    if (!isObject(entry)) throw bad("auth");
    onlyFields(entry, ["username", "password"]);
    const { username, password } = entry;
    return [registry, { username: textOf(username), password: textOf(password) }];
  });
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw bad("auth");
  return value;
}

function onlyFields(value: Record<string, unknown>, known: readonly string[]): void {
  for (const name of Object.keys(value)) if (!known.includes(name)) throw bad("an unknown field");
}

function bad(what: string): Error {
  return new Error(`error decoding credential provider plugin response from stdout: ${what}`);
}

/** A plugin that puts a credential into such a field must not have it logged. */
function safeText(value: unknown): string {
  return typeof value === "string" && /^[\w./-]{0,64}$/.test(value) ? value : "";
}
