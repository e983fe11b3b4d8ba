import type { Metrics } from "../../base/metrics.ts";

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
  heldBack(method: string, host: string, seconds: number): void;
  answered(attempt: CountedAttempt): void;
  /** Retried after this attempt. */
  retried(attempt: CountedAttempt): void;
  /** A request with all of its attempts has ended; a stream has started. */
  finished(method: string, host: string, seconds: number): void;
  sent(method: string, host: string, bytes: number): void;
  received(method: string, host: string, bytes: number): void;
  /** A client was created: with its own connections (miss), or with those of another (hit). */
  transportCreated(result: "hit" | "miss"): void;
  /** The connections of a client are closed for good. */
  transportClosed(): void;
  /** The CA file was reloaded. */
  authorityRead(reason: AuthorityRead): void;
}

export type AuthorityRead = "updated" | "unchanged" | "read_error" | "ca_parse_error";

const times = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizes = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** With the metric names of client-go. */
export function requestMetrics(metrics: Metrics): RequestMetrics {
  const histogram = (name: string, help: string, buckets: number[]) =>
    metrics.histogram({ name: `rest_client_${name}`, help, labels: ["verb", "host"], buckets });
  const heldBack = histogram(
    "rate_limiter_duration_seconds",
    "How long requests waited for their turn",
    times,
  );
  const took = histogram("request_duration_seconds", "How long requests took, by verb and host", times);
  const sent = histogram("request_size_bytes", "Sizes of requests, by verb and host", sizes);
  const received = histogram("response_size_bytes", "Sizes of answers, by verb and host", sizes);
  const requests = metrics.counter({
    name: "rest_client_requests_total",
    help: "Requests by status code, method and host",
    labels: ["code", "method", "host"],
  });
  const retries = metrics.counter({
    name: "rest_client_request_retries_total",
    help: "Requests that were tried again, by status code, verb and host",
    labels: ["code", "verb", "host"],
  });
  const entries = metrics.gauge({
    name: "rest_client_transport_cache_entries",
    help: "Clients with connections of their own",
  });
  const created = metrics.counter({
    name: "rest_client_transport_create_calls_total",
    help: "Clients made, with connections of their own (miss) or those of another (hit)",
    labels: ["result"],
  });
  const reads = metrics.counter({
    name: "rest_client_transport_ca_reload_total",
    help: "How often the file of the certificate authority was read again, by result and reason",
    labels: ["result", "reason"],
  });
  return {
    transportCreated: (result) => {
      created.inc({ result });
      if (result === "miss") entries.inc();
    },
    transportClosed: () => entries.dec(),
    authorityRead: (reason) => {
      const result = reason === "updated" || reason === "unchanged" ? "success" : "failure";
      reads.inc({ result, reason });
    },
    heldBack: (verb, host, seconds) => heldBack.observe({ verb, host }, seconds),
    answered: ({ method, host, status }) => requests.inc({ code: codeOf(status), method, host }),
    retried: ({ method, host, status }) => retries.inc({ code: codeOf(status), verb: method, host }),
    finished: (verb, host, seconds) => took.observe({ verb, host }, seconds),
    sent: (verb, host, bytes) => sent.observe({ verb, host }, bytes),
    received: (verb, host, bytes) => received.observe({ verb, host }, bytes),
  };
}

function codeOf(status: number): string {
  return status === 0 ? "<error>" : String(status);
}
