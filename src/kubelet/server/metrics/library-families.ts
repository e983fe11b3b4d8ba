import { exponentialBuckets } from "../../../lib/base/metrics.ts";
import type { Family, Sample } from "./exposition.ts";

/**
 * The series of libraries of the Go kubelet for what a kubelet never does: it writes no audit log, serves no aggregated discovery, encrypts no
 * storage, calls no admission webhooks. Dashboards that are shared by all components expect the series.
 */
const counters: Readonly<Record<string, string>> = {
  aggregator_discovery_aggregation_count_total: "Aggregations of discovery documents",
  aggregator_discovery_nopeer_requests_total: "Requests for discovery of one API server only",
  aggregator_discovery_peer_aggregated_cache_hits_total: "Discovery requests served from the cache of peers",
  aggregator_discovery_peer_aggregated_cache_misses_total: "Discovery requests not served from that cache",
  apiserver_audit_event_total: "Audit events sent to the audit backend",
  apiserver_audit_requests_rejected_total: "Requests rejected because of an error in the audit backend",
  apiserver_storage_data_key_generation_failures_total: "Failed generations of data encryption keys",
  apiserver_storage_envelope_transformation_cache_misses_total: "Cache misses for key decryption keys",
  apiserver_validation_declarative_validation_mismatch_total: "Declarative validations with another result",
  apiserver_validation_declarative_validation_panic_total: "Declarative validations that panicked",
  apiserver_validation_duplicate_validation_error_total: "Duplicate validation errors",
  apiserver_webhooks_x509_insecure_sha1_total: "Webhook certificates signed with SHA-1",
  apiserver_webhooks_x509_missing_san_total: "Webhook certificates without subject alternative names",
  cardinality_enforcement_unexpected_categorizations_total:
    "Label values that are not in the list of allowed values",
};

export function libraryFamilies(): Family[] {
  const none: Sample[] = [{ labels: {}, value: 0 }];
  return [
    ...Object.entries(counters).map(
      ([name, help]): Family => ({ name, help, type: "counter", samples: none }),
    ),
    {
      name: "apiserver_envelope_encryption_dek_cache_fill_percent",
      help: "Percentage of the cache of data encryption keys that is in use",
      type: "gauge",
      samples: none,
    },
    {
      name: "apiserver_storage_data_key_generation_duration_seconds",
      help: "Duration of generations of data encryption keys",
      type: "histogram",
      samples: [
        ...[...exponentialBuckets(5e-6, 2, 14).map(String), "+Inf"].map((le) => ({
          suffix: "_bucket",
          labels: { le },
          value: 0,
        })),
        { suffix: "_sum", labels: {}, value: 0 },
        { suffix: "_count", labels: {}, value: 0 },
      ],
    },
  ];
}
