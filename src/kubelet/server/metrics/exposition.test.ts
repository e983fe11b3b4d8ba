import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parsePrometheus } from "../../../../test/metrics/prometheus-text.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { wallTime } from "../../../lib/base/time.ts";
import { exposition, type Family } from "./exposition.ts";
import { acceptsGzip, formatFor } from "./negotiate.ts";
import { registryFamilies } from "./registry-families.ts";

const families: Family[] = [
  {
    name: "b_total",
    help: 'a "help"\nof two lines \\ and a slash',
    type: "counter",
    samples: [
      {
        labels: { z: "1", a: 'quote " slash \\ line\nend' },
        value: 1.5,
        time: wallTime(1_700_000_000_123.4),
      },
      { labels: { z: "", a: "ünïcode" }, value: 2 ** 64 },
    ],
  },
  { name: "a", help: "", type: "gauge", samples: [{ labels: {}, value: Number.POSITIVE_INFINITY }] },
  { name: "c", help: "no samples", type: "gauge", samples: [] },
  { name: "d", help: "no number", type: "untyped", samples: [{ labels: {}, value: Number.NaN }] },
];

describe("Prometheus text", () => {
  it("output round-trips through a strict parser", () => {
    const parsed = parsePrometheus(exposition(families, "text"));
    assert.deepEqual([...parsed.keys()], ["a", "b_total", "d"]);
    const [first, second] = parsed.get("b_total")!.samples;
    assert.deepEqual(first?.labels, { z: "1", a: 'quote " slash \\ line\nend' });
    assert.equal(first?.time, 1_700_000_000_123);
    assert.equal(second?.value, 2 ** 64);
    assert.equal(parsed.get("a")?.samples[0]?.value, Number.POSITIVE_INFINITY);
  });

  it("OpenMetrics: counters by their base name with samples in _total, seconds, and an end", () => {
    assert.equal(
      exposition(
        [
          {
            name: "x_total",
            help: "x",
            type: "counter",
            samples: [{ labels: {}, value: 1, time: wallTime(1500) }],
          },
          { name: "y_count", help: 'a "y"', type: "counter", samples: [{ labels: { a: "b" }, value: 2 }] },
          { name: "z", help: "z", type: "untyped", samples: [{ labels: {}, value: 3 }] },
        ],
        "openmetrics",
      ),
      '# HELP x x\n# TYPE x counter\nx_total 1 1.5\n# HELP y_count a \\"y\\"\n# TYPE y_count counter\n' +
        'y_count_total{a="b"} 2\n# HELP z z\n# TYPE z unknown\nz 3\n# EOF\n',
    );
  });

  it("a registry: counters, gauges and histograms with their buckets", async () => {
    const metrics = createMetrics();
    metrics.counter({ name: "n_total", help: "n", labels: ["a"] }).inc({ a: "1" }, 3);
    metrics.gauge({ name: "g", help: "g" }).set(-1);
    const histogram = metrics.histogram({ name: "h", help: "h", labels: ["b"], buckets: [1, 2] });
    histogram.observe({ b: "x" }, 1.5);
    histogram.observe({ b: "x" }, 9);
    const parsed = parsePrometheus(exposition(await registryFamilies(metrics.registry), "text"));
    assert.equal(parsed.get("n_total")?.samples[0]?.value, 3);
    assert.deepEqual(
      parsed.get("h")?.samples.map(({ name, labels, value }) => [name, labels.le, value]),
      [
        ["h_bucket", "1", 0],
        ["h_bucket", "2", 1],
        ["h_bucket", "+Inf", 2],
        ["h_sum", undefined, 10.5],
        ["h_count", undefined, 2],
      ],
    );
  });
});

describe("the strict parser rejects", () => {
  const head = "# HELP a a\n# TYPE a gauge\n";
  const table: [what: string, text: string, why: RegExp][] = [
    ["a last line without a newline", `${head}a 1`, /not terminated/],
    ["a metric without help", "# TYPE a gauge\na 1\n", /without HELP/],
    ["a sample before its type", "a 1\n", /another metric/],
    ["the same sample twice", `${head}a 1\na 2\n`, /duplicate sample/],
    ["samples with different labels", `${head}a 1\na{b="c"} 2\n`, /different labels/],
    ["a quote in a value", `${head}a{b="c"d"} 2\n`, /unterminated/],
    ["text instead of a number", `${head}a one\n`, /invalid number/],
    ["an unknown escape", `${head}a{b="\\t"} 1\n`, /invalid value/],
    ["blank lines", `${head}\na 1\n`, /neither/],
    [
      "a histogram without a +Inf bucket",
      '# HELP h h\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n',
      /no \+Inf bucket/,
    ],
  ];
  for (const [what, text, why] of table) it(what, () => assert.throws(() => parsePrometheus(text), why));
});

describe("the negotiated format", () => {
  const table: [accept: string | undefined, format: string][] = [
    [undefined, "text"],
    ["*/*", "text"],
    ["text/plain", "text"],
    ["application/openmetrics-text", "openmetrics"],
    [
      "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
      "openmetrics",
    ],
    ["application/openmetrics-text;q=0.1,text/plain;q=0.9", "text"],
    ["application/openmetrics-text;q=0", "text"],
    ["application/openmetrics-text;q=x", "text"],
    ["text/html, ,;;", "text"],
  ];
  for (const [accept, format] of table)
    it(`${accept}: ${format}`, () => assert.equal(formatFor(accept), format));
  it("gzip if it is accepted", () => {
    assert.equal(acceptsGzip("gzip, deflate"), true);
    assert.equal(acceptsGzip("gzip;q=0"), false);
    assert.equal(acceptsGzip(undefined), false);
  });
});
