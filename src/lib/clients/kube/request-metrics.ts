import type { Clock } from "../../base/clock.ts";
import type { Metrics } from "../../base/metrics.ts";
import { type PluginMetrics, pluginMetrics } from "./exec-plugin-metrics.ts";

/** One attempt, as counted. */
export interface CountedAttempt {
  readonly method: string;
  readonly host: string;
  /** 0: no response. */
  readonly status: number;
}

/** Metrics of requests to an API server. */
export interface RequestMetrics {
  /** How long a request was delayed by client-side rate limiting. */
  throttled(method: string, host: string, seconds: number): void;
  responded(attempt: CountedAttempt): void;
  /** Retried after this attempt. */
  retried(attempt: CountedAttempt): void;
  /** A request with all of its attempts has ended; a stream has started. */
  finished(method: string, host: string, seconds: number): void;
  sent(method: string, host: string, bytes: number): void;
  received(method: string, host: string, bytes: number): void;
  /** A client was created: with its own connections (miss), or with the connections of another client (hit). */
  transportCreated(result: "hit" | "miss"): void;
  /** The connections of a client are closed permanently; `rotates` if it watched files with its certificate. */
  transportClosed(rotates: boolean): void;
  /** The CA file was reloaded. */
  caReloaded(reason: CaReload): void;
  readonly plugins: PluginMetrics;
}

export type CaReload = "updated" | "unchanged" | "read_error" | "ca_parse_error";

const times = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizes = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** Metrics of requests, with the names that client-go uses. */
export function requestMetrics(
  metrics: Metrics,
  clock: Clock,
  options: {
    /** ClientsAllowTLSCacheGC; if false, clients that are closed remain in the cache, as the metrics show them. */
    readonly cacheGc?: boolean | undefined;
  } = {},
): RequestMetrics {
  const histogram = (name: string, help: string, buckets: number[]) =>
    metrics.histogram({ name: `rest_client_${name}`, help, labels: ["verb", "host"], buckets });
  const throttled = histogram(
    "rate_limiter_duration_seconds",
    "Client side rate limiter latency in seconds, by verb and host",
    times,
  );
  const took = histogram("request_duration_seconds", "Request latency in seconds, by verb and host", times);
  const sent = histogram("request_size_bytes", "Request size in bytes, by verb and host", sizes);
  const received = histogram("response_size_bytes", "Response size in bytes, by verb and host", sizes);
  const requests = metrics.counter({
    name: "rest_client_requests_total",
    help: "HTTP requests by status code, method and host",
    labels: ["code", "method", "host"],
  });
  const retries = metrics.counter({
    name: "rest_client_request_retries_total",
    help: "Request retries, by status code, verb and host",
    labels: ["code", "verb", "host"],
  });
  const entries = metrics.gauge({
    name: "rest_client_transport_cache_entries",
    help: "Entries in the transport cache",
  });
  const created = metrics.counter({
    name: "rest_client_transport_create_calls_total",
    help: "Creations of a transport: from the cache (hit) or with new connections (miss)",
    labels: ["result"],
  });
  const freed = metrics.counter({
    name: "rest_client_transport_cache_gc_calls_total",
    help: "Transports that were closed and removed from the cache",
    labels: ["result"],
  });
  const rotationsEnded = metrics.counter({
    name: "rest_client_transport_cert_rotation_gc_calls_total",
    help: "Transports that were closed and had checked a client certificate for rotation",
  });
  const reads = metrics.counter({
    name: "rest_client_transport_ca_reload_total",
    help: "Reloads of the CA file, by result and reason",
    labels: ["result", "reason"],
  });
  return {
    transportCreated: (result) => {
      created.inc({ result });
      if (result === "miss") entries.inc();
    },
    transportClosed: (rotates) => {
      if (options.cacheGc === false) return;
      entries.dec();
      freed.inc({ result: "deleted" });
      if (rotates) rotationsEnded.inc();
    },
    plugins: pluginMetrics(metrics, clock),
    caReloaded: (reason) => {
      const result = reason === "updated" || reason === "unchanged" ? "success" : "failure";
      reads.inc({ result, reason });
    },
    throttled: (verb, host, seconds) => throttled.observe({ verb, host }, seconds),
    responded: ({ method, host, status }) => requests.inc({ code: codeOf(status), method, host }),
    retried: ({ method, host, status }) => retries.inc({ code: codeOf(status), verb: method, host }),
    finished: (verb, host, seconds) => took.observe({ verb, host }, seconds),
    sent: (verb, host, bytes) => sent.observe({ verb, host }, bytes),
    received: (verb, host, bytes) => received.observe({ verb, host }, bytes),
  };
}

function codeOf(status: number): string {
  return status === 0 ? "<error>" : String(status);
}
