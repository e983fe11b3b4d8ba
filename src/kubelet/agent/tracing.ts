import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { ratioSampler } from "../../lib/base/tracing/sampler.ts";
import { RecordingTracer, type Tracer } from "../../lib/base/tracing/tracer.ts";
import { otlpCollector } from "../../lib/clients/otlp/collector.ts";
import { SpanExporter } from "../../lib/clients/otlp/span-exporter.ts";
import type { KubeletConfiguration } from "../../lib/config/kubelet-configuration.ts";

export interface Tracing {
  readonly tracer: Tracer;
  /** Started before all others and stopped after them, so that their last spans are sent too. */
  readonly component: Component;
}

const defaultEndpoint = "localhost:4317";

/** Undefined if the configuration has no `tracing`: then no spans are created, and tracing costs nothing. */
export function configuredTracing(o: {
  config: Pick<KubeletConfiguration, "tracing">;
  nodeName: string;
  version: string;
  clock: Clock;
  logger: Logger;
}): Tracing | undefined {
  const { tracing } = o.config;
  if (!tracing) return undefined;
  const resource = {
    "service.name": "kubelet",
    ...(o.version !== "" && { "service.version": o.version }),
    "host.name": o.nodeName,
    "k8s.node.name": o.nodeName,
  };
  const collector = otlpCollector(tracing.endpoint || defaultEndpoint, resource, o.clock);
  const exporter = new SpanExporter({ collector, clock: o.clock, logger: o.logger });
  const tracer = new RecordingTracer({
    sampler: ratioSampler(tracing.samplingRatePerMillion ?? 0),
    onEnd: (span) => exporter.add(span),
  });
  return { tracer, component: exporter };
}
