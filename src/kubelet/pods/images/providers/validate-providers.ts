import type { Path } from "../../../../lib/config/problems.ts";
import { qualifiedName } from "../../../../lib/model/validation/names.ts";
import type { RawProvider, RawTokenAttributes } from "./provider-config.ts";

const apiGroup = "credentialprovider.kubelet.k8s.io";
export const requestVersions = [`${apiGroup}/v1`, `${apiGroup}/v1alpha1`, `${apiGroup}/v1beta1`] as const;
const cacheTypes = ["ServiceAccount", "Token"];

type Note = (path: Path, message: string) => void;

export interface ProviderRules {
  /** Whether tokens of service accounts may be given to programs. */
  readonly tokens: boolean;
}

/** What is wrong with a provider, by the field it is about. */
export function validateProvider(provider: RawProvider, rules: ProviderRules, note: Note): void {
  const { name = "", apiVersion = "", matchImages = [], defaultCacheDuration, tokenAttributes } = provider;
  checkName(name, (message) => note(["name"], message));
  if (apiVersion === "") note(["apiVersion"], "is required");
  else if (!(requestVersions as readonly string[]).includes(apiVersion))
    note(["apiVersion"], `${JSON.stringify(apiVersion)} is not one of ${requestVersions.join(", ")}`);
  if (matchImages.length === 0) note(["matchImages"], "needs at least one item");
  matchImages.forEach((image, index) => {
    if (!isLocation(image))
      note(["matchImages", index], `${JSON.stringify(image)} is not a host, port and path`);
  });
  if (defaultCacheDuration === undefined) note(["defaultCacheDuration"], "is required");
  else if (defaultCacheDuration < 0) note(["defaultCacheDuration"], "must not be negative");
  if (!tokenAttributes) return;
  const noteToken: Note = (path, message) => note(["tokenAttributes", ...path], message);
  if (!rules.tokens) noteToken([], "needs the feature gate KubeletServiceAccountTokenForCredentialProviders");
  if (apiVersion !== requestVersions[0])
    noteToken([], `is only supported with apiVersion ${requestVersions[0]}`);
  checkTokenAttributes(tokenAttributes, noteToken);
}

function checkName(name: string, note: (message: string) => void): void {
  if (name === "") note("is required");
  if (name.includes("/")) note("must not contain '/'");
  if (name.includes(" ")) note("must not contain spaces");
  if (name.includes("\0")) note("must not contain a zero byte");
  if (name === "." || name === "..") note(`must not be '${name}'`);
}

function checkTokenAttributes(attributes: RawTokenAttributes, note: Note): void {
  const { requireServiceAccount, cacheType = "" } = attributes;
  const { requiredServiceAccountAnnotationKeys: required = [] } = attributes;
  const { optionalServiceAccountAnnotationKeys: optional = [] } = attributes;
  if (!attributes.serviceAccountTokenAudience) note(["serviceAccountTokenAudience"], "is required");
  if (requireServiceAccount === undefined) note(["requireServiceAccount"], "is required");
  if (requireServiceAccount === false && required.length > 0)
    note(["requiredServiceAccountAnnotationKeys"], "needs requireServiceAccount to be true");
  checkKeys(required, (index, message) => note(["requiredServiceAccountAnnotationKeys", index], message));
  checkKeys(optional, (index, message) => note(["optionalServiceAccountAnnotationKeys", index], message));
  const both = required.filter((key) => optional.includes(key));
  if (both.length > 0) note([], `annotation keys cannot be both required and optional: ${both.join(", ")}`);
  if (cacheType === "") note(["cacheType"], `is required: one of ${cacheTypes.join(", ")}`);
  else if (!cacheTypes.includes(cacheType))
    note(["cacheType"], `${JSON.stringify(cacheType)} is not one of ${cacheTypes.join(", ")}`);
}

function checkKeys(keys: readonly string[], note: (index: number, message: string) => void): void {
  keys.forEach((key, index) => {
    const complaint = qualifiedName(key.toLowerCase());
    if (complaint) note(index, `${JSON.stringify(key)} ${complaint}`);
    if (keys.indexOf(key) < index) note(index, `${JSON.stringify(key)} is given more than once`);
  });
}

/** A host, which may be a pattern, perhaps a port and a path, without a scheme. */
function isLocation(text: string): boolean {
  const [, host = "", path = ""] = /^([^/?#]*)(.*)$/s.exec(text) ?? [];
  // Blanks, control characters and percent signs that begin nothing are in no URL.
  if (/[\p{Cc} "<>\\^`{|}]/u.test(host) || /\p{Cc}/u.test(path)) return false;
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return false;
  return /^(?:[^@]*@)?(?:\[[^\]]*:[^\]]*\]|[^:]*)(?::\d*)?$/.test(host);
}
