import { qualifiedName } from "../../../../lib/base/name-rules.ts";
import type { Path } from "../../../../lib/config/problems.ts";
import type { RawProvider, RawTokenAttributes } from "./provider-config.ts";

const apiGroup = "credentialprovider.kubelet.k8s.io";
export const requestVersions = [`${apiGroup}/v1`, `${apiGroup}/v1alpha1`, `${apiGroup}/v1beta1`] as const;
const cacheTypes = ["ServiceAccount", "Token"];

type Report = (path: Path, message: string) => void;

export interface ProviderRules {
  /** Whether service account tokens may be passed to plugins. */
  readonly tokens: boolean;
}

/** Reports the problems of a provider by field. */
export function validateProvider(provider: RawProvider, rules: ProviderRules, report: Report): void {
  const { name = "", apiVersion = "", matchImages = [], defaultCacheDuration, tokenAttributes } = provider;
  checkName(name, (message) => report(["name"], message));
  if (apiVersion === "") report(["apiVersion"], "is required");
  else if (!(requestVersions as readonly string[]).includes(apiVersion))
    report(["apiVersion"], `${JSON.stringify(apiVersion)} is not one of ${requestVersions.join(", ")}`);
  if (matchImages.length === 0) report(["matchImages"], "needs at least one item");
  matchImages.forEach((image, index) => {
    if (!isLocation(image))
      report(["matchImages", index], `${JSON.stringify(image)} is not a host, port and path`);
  });
  if (defaultCacheDuration === undefined) report(["defaultCacheDuration"], "is required");
  else if (defaultCacheDuration < 0) report(["defaultCacheDuration"], "must not be negative");
  if (!tokenAttributes) return;
  const reportToken: Report = (path, message) => report(["tokenAttributes", ...path], message);
  if (!rules.tokens)
    reportToken([], "needs the feature gate KubeletServiceAccountTokenForCredentialProviders");
  if (apiVersion !== requestVersions[0])
    reportToken([], `is only supported with apiVersion ${requestVersions[0]}`);
  checkTokenAttributes(tokenAttributes, reportToken);
}

function checkName(name: string, report: (message: string) => void): void {
  if (name === "") report("is required");
  if (name.includes("/")) report("must not contain '/'");
  if (name.includes(" ")) report("must not contain spaces");
  if (name.includes("\0")) report("must not contain a zero byte");
  if (name === "." || name === "..") report(`must not be '${name}'`);
}

function checkTokenAttributes(attributes: RawTokenAttributes, report: Report): void {
  const { requireServiceAccount, cacheType = "" } = attributes;
  const { requiredServiceAccountAnnotationKeys: required = [] } = attributes;
  const { optionalServiceAccountAnnotationKeys: optional = [] } = attributes;
  if (!attributes.serviceAccountTokenAudience) report(["serviceAccountTokenAudience"], "is required");
  if (requireServiceAccount === undefined) report(["requireServiceAccount"], "is required");
  if (requireServiceAccount === false && required.length > 0)
    report(["requiredServiceAccountAnnotationKeys"], "needs requireServiceAccount to be true");
  checkKeys(required, (index, message) => report(["requiredServiceAccountAnnotationKeys", index], message));
  checkKeys(optional, (index, message) => report(["optionalServiceAccountAnnotationKeys", index], message));
  const both = required.filter((key) => optional.includes(key));
  if (both.length > 0) report([], `annotation keys cannot be both required and optional: ${both.join(", ")}`);
  if (cacheType === "") report(["cacheType"], `is required: one of ${cacheTypes.join(", ")}`);
  else if (!cacheTypes.includes(cacheType))
    report(["cacheType"], `${JSON.stringify(cacheType)} is not one of ${cacheTypes.join(", ")}`);
}

function checkKeys(keys: readonly string[], report: (index: number, message: string) => void): void {
  keys.forEach((key, index) => {
    for (const message of qualifiedName(key.toLowerCase()))
      report(index, `${JSON.stringify(key)}: ${message}`);
    if (keys.indexOf(key) < index) report(index, `${JSON.stringify(key)} is specified more than once`);
  });
}

/** A host, which may be a pattern, perhaps a port and a path, without a scheme. */
function isLocation(text: string): boolean {
  const [, host = "", path = ""] = /^([^/?#]*)(.*)/s.exec(text) ?? [];
  // A URL has no spaces, control characters and bare percent signs.
  if (/[\p{Cc} "<>\\^`{|}]/u.test(host) || /\p{Cc}/u.test(path)) return false;
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return false;
  return /^(?:[^@]*@)?(?:\[[^\]]*:[^\]]*\]|[^:]*)(?::\d*)?$/.test(host);
}
