import type { Metrics } from "../../../lib/base/metrics.ts";

export type ApiVersion = "v1" | "v1alpha1";
export type Call = "list" | "get" | "get_allocatable";

export interface RequestCounts {
  requested(version: ApiVersion, call: Call): void;
  failed(version: ApiVersion, call: Call): void;
}

export function requestCounts(metrics: Metrics): RequestCounts {
  const counter = (name: string, help: string) =>
    metrics.counter({
      name: `kubelet_pod_resources_endpoint_${name}`,
      help,
      labels: ["server_api_version"],
    });
  const total = counter("requests_total", "Cumulative number of requests to the PodResource endpoint");
  const each = (what: string, call: Call) =>
    counter(`${what}_${call}`, `Number of ${what} of the PodResource ${call} call`);
  const calls = ["list", "get", "get_allocatable"] as const;
  const requests = Object.fromEntries(calls.map((call) => [call, each("requests", call)]));
  const errors = Object.fromEntries(calls.map((call) => [call, each("errors", call)]));
  return {
    requested(version, call) {
      total.inc({ server_api_version: version });
      // v1alpha1 is only counted in total.
      if (version === "v1") requests[call]?.inc({ server_api_version: version });
    },
    failed: (version, call) => errors[call]?.inc({ server_api_version: version }),
  };
}
