import { Counter, Gauge, Histogram, Registry } from "prom-client";

export interface MetricOptions<L extends string> {
  name: string;
  help: string;
  labels?: readonly L[];
}

export interface GaugeOptions<L extends string> extends MetricOptions<L> {
  /** Sets the values on each scrape. */
  collect?: (gauge: Gauge<L>) => void;
}

/** The metrics of one agent, in its own registry: two agents in one process share no metric. */
export interface Metrics {
  readonly registry: Registry;
  /** Each of these returns the same metric again for the same name. */
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
  gauge<L extends string = never>(options: GaugeOptions<L>): Gauge<L>;
  histogram<L extends string = never>(options: MetricOptions<L> & { buckets?: number[] }): Histogram<L>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const once = <M>(name: string, kind: new (...args: never[]) => M, make: () => M): M => {
    const known = registry.getSingleMetric(name);
    if (known === undefined) return make();
    if (known instanceof kind) return known;
    throw new Error(`metric ${name} is already registered as another kind`);
  };
  const base = <L extends string>(o: MetricOptions<L>) => ({
    name: o.name,
    help: o.help,
    labelNames: o.labels ?? [],
    registers: [registry],
  });
  return {
    registry,
    counter: <L extends string>(o: MetricOptions<L>) =>
      once(o.name, Counter<L>, () => new Counter<L>(base(o))),
    gauge: <L extends string>({ collect, ...o }: GaugeOptions<L>) =>
      once(o.name, Gauge<L>, () => {
        const gauge: Gauge<L> = new Gauge<L>({
          ...base(o),
          ...(collect && { collect: () => collect(gauge) }),
        });
        return gauge;
      }),
    histogram: <L extends string>(o: MetricOptions<L> & { buckets?: number[] }) =>
      once(
        o.name,
        Histogram<L>,
        () => new Histogram<L>({ ...base(o), ...(o.buckets && { buckets: o.buckets }) }),
      ),
  };
}

/** `count` bucket bounds that start at `start` and grow by `factor`. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start * factor ** i);
}
