import { KubeletError } from "../../../lib/base/errors.ts";
import { dnsLabel, dnsSubdomain, type Messages } from "../../../lib/base/name-rules.ts";
import type { Pod } from "../../../lib/model/pod.ts";

/** A DNS label has at most 63 characters; the kernel stores up to 64, which an FQDN may use. */
const maxHostnameLength = 63;
const maxFqdnLength = 64;

export interface PodHostname {
  readonly hostname: string;
  /** "" if the pod has no subdomain. */
  readonly domain: string;
}

/** The pod's hostname and its domain in the cluster domain. `overrides` is false if spec.hostnameOverride is ignored. */
export function podHostname(pod: Pod, clusterDomain: string, overrides = true): PodHostname {
  const { hostname, hostnameOverride, subdomain } = pod.spec;
  if (overrides && hostnameOverride != null) {
    check("HostnameOverride", "DNS subdomain", hostnameOverride, dnsSubdomain(hostnameOverride));
    return { hostname: shorten(pod, hostnameOverride), domain: "" };
  }
  if (hostname) check("Hostname", "DNS label", hostname, dnsLabel(hostname));
  if (subdomain) check("Subdomain", "DNS label", subdomain, dnsLabel(subdomain));
  return {
    hostname: shorten(pod, hostname || pod.metadata.name),
    domain: subdomain ? `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` : "",
  };
}

/** The output of `hostname` inside the pod. */
export function kernelHostname({ hostname, domain }: PodHostname, asFqdn: boolean | undefined): string {
  if (!asFqdn || domain === "") return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > maxFqdnLength) {
    throw new KubeletError(
      "ConfigPodSandboxError",
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ` +
        `(${maxFqdnLength} characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return fqdn;
}

function shorten(pod: Pod, hostname: string): string {
  if (hostname.length <= maxHostnameLength) return hostname;
  const truncated = hostname.slice(0, maxHostnameLength).replace(/[-.]+$/, "");
  if (truncated === "") {
    throw new KubeletError(
      "ConfigPodSandboxError",
      `hostname for pod "${pod.metadata.name}" was invalid: "${hostname}"`,
    );
  }
  return truncated;
}

function check(field: string, kind: string, value: string, messages: Messages): void {
  if (messages.length === 0) return;
  throw new KubeletError(
    "ConfigPodSandboxError",
    `pod ${field} "${value}" is not a valid ${kind}: ${messages.join(";")}`,
  );
}
