import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, it, type TestContext } from "node:test";
import { create } from "@bufbuild/protobuf";
import { parsePrometheus } from "../../../../test/metrics/prometheus-text.ts";
import {
  type Metric,
  MetricDescriptorSchema,
  MetricSchema,
  MetricType,
  PodSandboxMetricsSchema,
} from "../../../lib/gen/runtime/v1/api_pb.js";
import { healthSlis } from "../health-slis.ts";
import { fakeMetricsOptions, fakeSummary } from "./fake-metrics.ts";
import { type MetricsRoutesOptions, metricsRoutes } from "./routes.ts";

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

/** The routes over HTTP, without authorization. */
async function serve(_: TestContext, over: Partial<MetricsRoutesOptions> = {}) {
  const routes = metricsRoutes(fakeMetricsOptions(over));
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://x");
    const route = routes.find((r) => r.path === url.pathname && r.method === request.method)!;
    const exchange = { request, response, params: {}, query: url.searchParams };
    void route.handle({
      ...exchange,
      signal: new AbortController().signal,
      caller: { name: "u", groups: [] },
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const response = await fetch(base + path, { method, headers: { connection: "close", ...headers } });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

describe("metrics over HTTP", () => {
  it("nodes/metrics and nodes/stats are the permissions to read them", () => {
    const permissions = metricsRoutes(fakeMetricsOptions()).map((route) => [
      `${route.method} ${route.path}`,
      route.attributes({}).verb,
      ...route.attributes({}).subresources,
    ]);
    assert.deepEqual(permissions, [
      ["GET /metrics", "get", "metrics"],
      ["GET /metrics/cadvisor", "get", "metrics"],
      ["GET /metrics/resource", "get", "metrics"],
      ["GET /metrics/probes", "get", "metrics"],
      ["GET /metrics/slis", "get", "metrics"],
      ["DELETE /metrics/slis", "delete", "metrics"],
      ["GET /stats/summary", "get", "stats"],
      ["POST /stats/summary", "create", "stats"],
    ]);
  });

  // parity: endpoint 10250 GET /metrics/resource
  it("resources: seconds, bytes, and when they were measured", async (t) => {
    const send = await serve(t);
    const { headers, text } = await send("/metrics/resource");
    assert.equal(
      headers.get("content-type"),
      "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
    );
    const parsed = parsePrometheus(text);
    const [cpu] = parsed.get("container_cpu_usage_seconds_total")!.samples;
    assert.equal(cpu?.value, 3.5);
    assert.equal(cpu?.time, Date.parse("2026-01-02T03:04:05Z"));
    assert.deepEqual(cpu?.labels, { container: "c", namespace: "default", pod: "web" });
    assert.equal(parsed.get("container_swap_limit_bytes")?.samples[0]?.value, 30);
    assert.equal(parsed.get("container_start_time_seconds")?.samples[0]?.value, 1_767_323_045);
    assert.equal(parsed.get("resource_scrape_error")?.samples[0]?.value, 0);
  });

  // parity: endpoint 10250 GET /metrics/slis
  // parity: metric /metrics/slis kubernetes_healthcheck, metric /metrics/slis kubernetes_healthchecks_total
  it("results of health checks are exposed, and reset on request", async (t) => {
    const slis = healthSlis();
    for (const ok of [true, true, false]) slis.observe("syncloop", ok);
    const send = await serve(t, { sliMetrics: slis.metrics });
    const exposed = async () => {
      const parsed = parsePrometheus((await send("/metrics/slis")).text);
      const samples = ["kubernetes_healthcheck", "kubernetes_healthchecks_total"].flatMap(
        (name) => parsed.get(name)?.samples ?? [],
      );
      return samples.map(({ labels, value }) => [labels, value]);
    };
    const labels = { name: "syncloop", type: "healthz" };
    assert.deepEqual(await exposed(), [
      [labels, 0],
      [{ ...labels, status: "success" }, 2],
      [{ ...labels, status: "error" }, 1],
    ]);
    assert.equal((await send("/metrics/slis", {}, "DELETE")).text, "metrics reset\n");
    assert.deepEqual(await exposed(), []);
  });

  // parity: metric /metrics/cadvisor container_scrape_error, metric /metrics/resource resource_scrape_error
  it("a failed scrape is a metric, not a failed request", async (t) => {
    const broken = () => Promise.reject(new Error("no cgroups"));
    const stats = {
      summary: broken,
      cpuAndMemory: broken,
      totals: broken,
      storage: broken,
      containers: broken,
    };
    const send = await serve(t, { stats, disks: broken, process: broken });
    const resource = parsePrometheus((await send("/metrics/resource")).text);
    assert.deepEqual([...resource.keys()], ["resource_scrape_error"]);
    assert.equal(resource.get("resource_scrape_error")?.samples[0]?.value, 1);
    const cadvisor = parsePrometheus((await send("/metrics/cadvisor")).text);
    assert.equal(cadvisor.get("container_scrape_error")?.samples[0]?.value, 1);
    assert.equal(cadvisor.get("machine_cpu_cores")?.samples[0]?.value, 2);
    assert.equal((await send("/metrics")).status, 200);
    const summary = await send("/stats/summary");
    assert.deepEqual([summary.status, summary.text], [500, "Internal Error: no cgroups"]);
  });

  // parity: endpoint 10250 GET /metrics/cadvisor
  it("cgroups: labels of what runs in them, networks at the sandbox, no unlimited numbers", async (t) => {
    const send = await serve(t);
    const parsed = parsePrometheus((await send("/metrics/cadvisor")).text);
    const value = (name: string, labels: Record<string, string>) =>
      parsed.get(name)?.samples.find((s) => Object.entries(labels).every(([key, of]) => s.labels[key] === of))
        ?.value;
    assert.equal(value("container_cpu_usage_seconds_total", { container: "c", cpu: "total" }), 3);
    assert.equal(
      value("container_memory_failures_total", {
        name: "c1",
        failure_type: "pgmajfault",
        scope: "hierarchy",
      }),
      14,
    );
    assert.deepEqual(
      parsed
        .get("container_network_receive_bytes_total")
        ?.samples.map(({ labels }) => [labels.id, labels.interface]),
      [
        ["/", "eth0"],
        ["/kubepods/podu/s1", "eth0"],
      ],
    );
    assert.equal(value("container_ulimits_soft", { name: "c1" }), -1);
    assert.deepEqual(
      ["sleeping", "running", "stopped", "uninterruptible", "iowaiting"].map((state) =>
        value("container_tasks_state", { name: "c1", state }),
      ),
      [4, 1, 0, 0, 0],
    );
    assert.equal(value("container_fs_usage_bytes", { name: "c1", device: "/dev/vda" }), 12_288);
    assert.equal(value("container_fs_inodes_total", { name: "c1", device: "/dev/vda" }), 6);
    assert.equal(value("container_fs_inodes_free", { name: "c1", device: "/dev/vda" }), 0);
    assert.equal(value("container_fs_inodes_total", { id: "/", device: "/dev/vda" }), 100);
    assert.equal(value("container_fs_reads_total", { name: "c1", device: "/dev/sda" }), 1);
    assert.equal(value("container_fs_reads_total", { id: "/", device: "/dev/vda" }), 1);
    assert.equal(value("container_fs_reads_total", { id: "/", device: "/dev/sda" }), 1);
    assert.equal(value("container_fs_reads_bytes_total", { id: "/", device: "/dev/sda" }), 3);
    const each = ["processes", "file_descriptors", "sockets", "threads", "threads_max", "tasks_state"];
    for (const name of [...each, "ulimits_soft", "spec_memory_limit_bytes"])
      assert.notEqual(value(`container_${name}`, { id: "/" }), undefined, name);
    assert.equal(value("container_pressure_cpu_waiting_seconds_total", { name: "c1" }), 2);
    assert.equal(parsed.get("container_spec_memory_limit_bytes")?.samples[0]?.time, undefined);
  });

  // parity: metric /metrics/cadvisor container_blkio_device_usage_total
  it("cgroups: bytes by device and operation; the machine's devices have the names under which they are mounted", async (t) => {
    const options = fakeMetricsOptions();
    const disks = async () => {
      const found = await options.disks();
      return {
        ...found,
        disks: found.disks.map((disk) => ({ ...disk, device: "/dev/root", number: "8:0" })),
      };
    };
    const send = await serve(t, { disks });
    const parsed = parsePrometheus((await send("/metrics/cadvisor")).text);
    const family = parsed.get("container_blkio_device_usage_total");
    const numbers = { major: "8", minor: "0" };
    assert.equal(family?.type, "counter");
    assert.deepEqual(
      family?.samples
        .filter(({ labels }) => labels.id === "/" || labels.container === "c")
        .map(({ labels: { id, device, operation, major, minor }, value }) => [
          { id, device, operation, major, minor },
          value,
        ]),
      [
        [{ id: "/", device: "/dev/root", operation: "Read", ...numbers }, 3],
        [{ id: "/", device: "/dev/root", operation: "Write", ...numbers }, 4],
        [{ id: "/kubepods/podu/c1", device: "/dev/sda", operation: "Read", ...numbers }, 3],
        [{ id: "/kubepods/podu/c1", device: "/dev/sda", operation: "Write", ...numbers }, 4],
      ],
    );
    const reads = parsed.get("container_fs_reads_total")?.samples.filter(({ labels }) => labels.id === "/");
    assert.deepEqual(
      reads?.map(({ labels }) => labels.device),
      ["/dev/root"],
      "a device is counted once",
    );
  });

  it("help texts start with the stability level, except those of cAdvisor and of the process", async (t) => {
    const send = await serve(t);
    const help = async (path: string) =>
      new Map(
        [...(await send(path)).text.matchAll(/^# HELP (\S+) (?:\[([A-Z]+)\] )?/gm)].map((m) => [m[1], m[2]]),
      );
    const resource = await help("/metrics/resource");
    assert.deepEqual(
      [...resource].filter(([, level]) => level !== "STABLE"),
      [
        "container_swap_limit_bytes",
        "container_swap_usage_bytes",
        "node_swap_usage_bytes",
        "pod_swap_usage_bytes",
      ].map((name) => [name, "ALPHA"]),
    );
    assert.ok(resource.size > 10);
    assert.deepEqual(Object.fromEntries(await help("/metrics/probes")), {
      prober_probe_duration_seconds: "ALPHA",
      prober_probe_total: "BETA",
      process_start_time_seconds: "ALPHA",
    });
    const metrics = await help("/metrics");
    assert.equal(metrics.get("kubernetes_build_info"), "BETA");
    assert.equal(metrics.get("kubelet_node_name"), "ALPHA");
    assert.ok(metrics.has("process_start_time_seconds"));
    assert.equal(metrics.get("process_start_time_seconds"), undefined);
    assert.deepEqual(new Set((await help("/metrics/cadvisor")).values()), new Set([undefined]));
  });

  it("every page of metrics names the start of the process", async (t) => {
    const send = await serve(t);
    for (const page of ["", "/cadvisor", "/resource", "/probes", "/slis"])
      assert.equal((await send(`/metrics${page}`)).headers.get("process-start-time-unix"), "4", page);
  });

  // parity: metric /metrics kubelet_metrics_provider
  it("the provider of container metrics depends on PodAndContainerStatsFromCRI", async (t) => {
    for (const enabled of [false, true]) {
      const { agent } = fakeMetricsOptions();
      const features = [{ name: "PodAndContainerStatsFromCRI", stage: "ALPHA", enabled }];
      const parsed = parsePrometheus(
        (await (await serve(t, { agent: { ...agent, features } }))("/metrics")).text,
      );
      const [sample] = parsed.get("kubelet_metrics_provider")!.samples;
      assert.deepEqual(sample?.labels, { provider: enabled ? "cri" : "cadvisor" });
    }
  });

  // parity: gate PodAndContainerStatsFromCRI=true
  it("PodAndContainerStatsFromCRI: /metrics/cadvisor has what the runtime describes, and the machine", async (t) => {
    const metric = (
      name: string,
      value: bigint | undefined,
      of: Partial<Pick<Metric, "timestamp" | "metricType" | "labelValues">> = {},
    ) =>
      create(MetricSchema, {
        name,
        labelValues: ["c", "web"],
        metricType: MetricType.COUNTER,
        ...(value !== undefined && { value: { value } }),
        ...of,
      });
    const used = "container_cpu_usage_seconds_total";
    const pod = create(PodSandboxMetricsSchema, {
      podSandboxId: "sandbox",
      metrics: [metric("container_memory_rss", 5n, { metricType: MetricType.GAUGE, labelValues: ["POD"] })],
      containerMetrics: [
        {
          containerId: "c-id",
          metrics: [
            metric(used, 3n, { timestamp: 1_700_000_000_123_456_789n }),
            metric(used, 4n, { labelValues: ["d", "web"] }),
            metric(used, 7n),
            metric(used, 8n, { labelValues: ["c"] }),
            metric(used, 8n, { labelValues: ["e", "web"], metricType: MetricType.GAUGE }),
            metric(used, undefined, { labelValues: ["f", "web"] }),
            metric("undescribed_total", 1n),
            metric("not a name", 1n),
            metric("two_labels", 1n),
          ],
        },
      ],
    });
    let described = 0;
    const runtime = {
      listMetricDescriptors: async () => {
        if (++described === 1) throw new Error("not yet");
        return [
          { name: used, help: "CPU", labelKeys: ["container", "pod"] },
          { name: "container_memory_rss", help: "RSS", labelKeys: ["container"] },
          { name: "not a name", help: "", labelKeys: ["container", "pod"] },
          { name: "two_labels", help: "", labelKeys: ["pod", "pod"] },
        ].map((descriptor) => create(MetricDescriptorSchema, descriptor));
      },
      listPodSandboxMetrics: async () => [pod],
    };
    const send = await serve(t, { runtime });
    const containerLines = async () =>
      (await send("/metrics/cadvisor")).text.split("\n").filter((line) => /^(?!.*machine_)./.test(line));
    assert.deepEqual(await containerLines(), [], "the runtime has not described its metrics");
    const expected = [
      "# HELP container_cpu_usage_seconds_total [INTERNAL] CPU",
      "# TYPE container_cpu_usage_seconds_total counter",
      'container_cpu_usage_seconds_total{container="c",pod="web"} 3 1700000000123',
      'container_cpu_usage_seconds_total{container="d",pod="web"} 4',
      "# HELP container_memory_rss [INTERNAL] RSS",
      "# TYPE container_memory_rss gauge",
      'container_memory_rss{container="POD"} 5',
    ];
    for (let i = 0; i < 2; i++) assert.deepEqual(await containerLines(), expected);
    assert.equal(described, 2);
    assert.match((await send("/metrics/cadvisor")).text, /^machine_memory_bytes\{/m);
  });

  // parity: endpoint 10250 GET /metrics, metric /metrics kubelet_container_log_filesystem_used_bytes
  // parity: metric /metrics kubelet_node_name, metric /metrics kubernetes_build_info
  it("/metrics: the registry, build info, logs of containers, and volumes of PVCs", async (t) => {
    const send = await serve(t);
    const parsed = parsePrometheus((await send("/metrics")).text);
    assert.equal(parsed.get("kubelet_node_name")?.samples[0]?.labels.node, "n");
    assert.equal(parsed.get("process_cpu_seconds_total")?.type, "counter");
    assert.deepEqual(
      parsed
        .get("kubelet_container_log_filesystem_used_bytes")
        ?.samples.map(({ labels, value }) => [labels, value]),
      [[{ uid: "u", namespace: "default", pod: "web", container: "c" }, 300]],
    );
    assert.deepEqual(parsed.get("kubelet_volume_stats_used_bytes")?.samples[0]?.labels, {
      namespace: "default",
      persistentvolumeclaim: "claim",
    });
    assert.equal(parsed.get("kubelet_volume_stats_health_status_abnormal")?.samples[0]?.value, 1);
    assert.equal(parsed.get("kubernetes_build_info")?.samples[0]?.labels.minor, "36");
  });

  // parity: metric /metrics registered_metrics_total
  // parity: metric /metrics disabled_metrics_total, metric /metrics hidden_metrics_total
  it("/metrics: registered metrics by stability level", async (t) => {
    const parsed = parsePrometheus((await (await serve(t))("/metrics")).text);
    const samples = parsed.get("registered_metrics_total")?.samples ?? [];
    assert.deepEqual(
      Object.fromEntries(samples.map(({ labels, value }) => [labels.stability_level, value])),
      { ALPHA: 17, BETA: 8, INTERNAL: 1, STABLE: 2 },
    );
    assert.ok(samples.every(({ labels }) => labels.deprecated_version === ""));
    assert.equal(parsed.get("registered_metrics_total")?.type, "counter");
    for (const name of ["disabled_metrics_total", "hidden_metrics_total"])
      assert.equal(parsed.get(name)?.samples[0]?.value, 0, name);
  });

  it("/metrics: metrics changed during the scrape are in it", async (t) => {
    const options = fakeMetricsOptions();
    const storage = async () => {
      options.metrics.counter({ name: "measured_total", help: "times that disks were measured" }).inc();
      return options.stats.totals();
    };
    const send = await serve(t, { metrics: options.metrics, stats: { ...options.stats, storage } });
    assert.equal(parsePrometheus((await send("/metrics")).text).get("measured_total")?.samples[0]?.value, 1);
  });

  it("OpenMetrics and gzip for clients that accept them", async (t) => {
    const send = await serve(t);
    const open = await send("/metrics/resource", {
      accept: "application/openmetrics-text",
      "accept-encoding": "gzip",
    });
    assert.match(open.headers.get("content-type")!, /^application\/openmetrics-text; version=1.0.0/);
    assert.equal(open.headers.get("content-encoding"), "gzip");
    assert.match(open.text, /^pod_cpu_usage_seconds_total\{.*\} 3.5 1767323045$/m);
    assert.ok(open.text.endsWith("# EOF\n"));
  });

  // parity: endpoint 10250 GET /stats/summary
  it("summary: all, or CPU and memory only if just that is requested", async (t) => {
    const send = await serve(t);
    const all = await send("/stats/summary");
    assert.equal(all.headers.get("content-type"), "application/json");
    assert.deepEqual(JSON.parse(all.text), fakeSummary);
    assert.deepEqual(JSON.parse((await send("/stats/summary?only_cpu_and_memory=true")).text).pods, []);
    assert.deepEqual(JSON.parse((await send("/stats/summary", {}, "POST")).text), fakeSummary);
    for (const query of ["only_cpu_and_memory=1", "only_cpu_and_memory=true&only_cpu_and_memory=true", "x"])
      assert.deepEqual(JSON.parse((await send(`/stats/summary?${query}`)).text), fakeSummary, query);
  });
});
