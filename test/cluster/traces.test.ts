import assert from "node:assert/strict";
import { request } from "node:https";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { configuredTracing } from "../../src/kubelet/agent/tracing.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { Span_SpanKind } from "../../src/lib/gen/opentelemetry/proto/trace/v1/trace_pb.js";
import type { Pod } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";
import { startEmbeddedApi } from "./embedded-api.ts";
import { type ReceivedSpan, TraceCollector } from "./trace-collector.ts";

const always = 1_000_000;

async function collectorOf(t: TestContext): Promise<TraceCollector> {
  const collector = await TraceCollector.start();
  t.after(() => collector.stop());
  return collector;
}

function tracingTo(endpoint: string, samplingRatePerMillion?: number) {
  return { tracing: { endpoint, ...(samplingRatePerMillion !== undefined && { samplingRatePerMillion }) } };
}

// parity: field tracing.endpoint, field tracing.samplingRatePerMillion, gate KubeletTracing=true as configuredTracing
test("syncs of a pod and their calls to the runtime and the API are spans with the right parents", async (t) => {
  const collector = await collectorOf(t);
  const tracing = configuredTracing({
    config: tracingTo(collector.endpoint, always),
    nodeName,
    version: "v1.36.4",
    clock: systemClock,
    logger: silentLogger,
  });
  const { cluster, admin, traceparents } = await startEmbeddedApi(t, tracing?.tracer);
  const post = (path: string, kind: string, body: object) =>
    admin.request({ method: "POST", path, body: { apiVersion: "v1", kind, ...body } });
  for (const name of ["default", "kube-node-lease"])
    await post("/api/v1/namespaces", "Namespace", { metadata: { name } });
  await post("/api/v1/namespaces/default/serviceaccounts", "ServiceAccount", {
    metadata: { name: "default" },
  });
  const node = await TestCluster.start(t, { cluster, tracing });
  await node.startAgent();
  const pods = "/api/v1/namespaces/default/pods";
  const { metadata } = (await post(pods, "Pod", {
    metadata: { name: "web" },
    spec: { nodeName, terminationGracePeriodSeconds: 1, containers: [container()] },
  })) as { metadata: { uid: string } };
  await waitFor(() => assert.equal(node.runningOf(metadata.uid).length, 1));
  // Before its deletion, with which the status would conflict.
  await waitFor(async () => {
    const { status } = (await admin.request({ method: "GET", path: `${pods}/web` })) as Pod;
    assert.equal(status?.containerStatuses?.[0]?.ready, true);
  });
  await admin.request({ method: "DELETE", path: `${pods}/web` });
  await waitFor(() => assert.equal(node.agent.overview.rows().length, 0), 15_000);
  await node.stopAgent();

  assert.ok(collector.requests > 0, "remaining spans were not sent when the agent stopped");
  assert.deepEqual(collector.resources[0], {
    "service.name": "kubelet",
    "service.version": "v1.36.4",
    "host.name": nodeName,
    "k8s.node.name": nodeName,
  });
  const first = collector.of("syncPod").find((s) => s.attributes["k8s.pod.update_type"] === "create");
  assert.ok(first, "the first sync has no span");
  assert.deepEqual(first.attributes, {
    "k8s.pod.uid": metadata.uid,
    "k8s.pod": "default/web",
    "k8s.pod.name": "web",
    "k8s.namespace.name": "default",
    "k8s.pod.update_type": "create",
  });
  assert.deepEqual([first.parentId, first.kind, first.error], ["", Span_SpanKind.INTERNAL, undefined]);

  const cri = (method: string) => `runtime.v1.RuntimeService/${method}`;
  for (const method of ["RunPodSandbox", "CreateContainer", "StartContainer"]) {
    const [span, ...more] = collector.of(cri(method));
    assert.equal(more.length, 0, `${method} was called more than once`);
    assert.equal(span?.parentId, first.spanId, `the span of ${method} is not a child of its sync`);
    assert.equal(span.traceId, first.traceId);
    assert.equal(span.kind, Span_SpanKind.CLIENT);
    assert.deepEqual(span.attributes, {
      "rpc.method": cri(method),
      "rpc.system.name": "grpc",
      "rpc.response.status_code": "OK",
    });
    assert.ok(first.start <= span.start && span.end <= first.end, "the span is not within its parent");
    const received = node.runtime.callsOf(method).map(({ traceparent }) => traceparent);
    assert.deepEqual(
      received,
      [`00-${span.traceId}-${span.spanId}-01`],
      "the trace context was not propagated to the runtime",
    );
  }
  assert.ok(collector.of("runtime.v1.ImageService/ImageStatus").some((s) => s.traceId === first.traceId));

  const terminating = collector.of("syncTerminatingPod");
  const stop = collector.of(cri("StopContainer"))[0];
  assert.ok(
    terminating.some(({ spanId }) => spanId === stop?.parentId),
    "the stop is not a child of a terminating sync",
  );
  assert.ok(collector.of("syncTerminatedPod").some((s) => s.attributes["k8s.pod.uid"] === metadata.uid));
  assert.ok(collector.of("Containers/GarbageCollect").length > 0);

  const patch = collector
    .of("HTTP PATCH")
    .find((s) => String(s.attributes["url.full"]).includes("/pods/web/"));
  assert.equal(patch?.attributes["http.response.status_code"], 200);
  const known = new Set(collector.spans.map((s) => `00-${s.traceId}-${s.spanId}-01`));
  const unknown = [...traceparents].filter((traceparent) => !known.has(traceparent));
  // Spans in progress when the agent stopped were propagated to the API and have no end.
  assert.ok(traceparents.size > 5 && unknown.length <= 3, `${unknown.length} of ${traceparents.size}`);
});

/** A separate agent for requests to its server. */
async function withServer(t: TestContext, tracing: object) {
  const node = await TestCluster.start(t);
  const config = { ...node.config(), ...tracing, port: 0, address: "127.0.0.1" };
  config.authentication.anonymous.enabled = true;
  config.authorization.mode = "AlwaysAllow";
  await node.startAgent({ config, certDir: join(node.dir, "pki"), server: { version: "v1.36.4" } });
  const get = (path: string, traceparent?: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const call = request(
        {
          host: "127.0.0.1",
          port: node.agent.serverPort,
          path,
          rejectUnauthorized: false,
          headers: { ...(traceparent && { traceparent }) },
        },
        (response) => response.resume().on("end", () => resolve(response.statusCode)),
      );
      call.on("error", reject);
      call.end();
    });
  return { node, get };
}

test("a request to the node belongs to the trace of its caller", async (t) => {
  const collector = await collectorOf(t);
  const { node, get } = await withServer(t, tracingTo(collector.endpoint, always));
  const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
  assert.equal(await get("/pods", `00-${caller.traceId}-${caller.spanId}-01`), 200);
  assert.equal(await get("/containerLogs/default/none/c"), 404);
  await node.stopAgent();
  const [pods] = collector.of("/pods") as [ReceivedSpan];
  assert.deepEqual(
    [pods.traceId, pods.parentId, pods.kind],
    [caller.traceId, caller.spanId, Span_SpanKind.SERVER],
  );
  assert.equal(pods.attributes["http.response.status_code"], 200);
  const [logs] = collector.of("/containerLogs/{namespace}/{pod}/{container}") as [ReceivedSpan];
  assert.deepEqual([logs.parentId, logs.error], ["", undefined]);
  assert.equal(logs.attributes["http.response.status_code"], 404);
  assert.notEqual(logs.traceId, pods.traceId);
});

for (const rate of [undefined, 0])
  test(`with a sampling rate of ${rate} the agent starts no trace, but continues sampled traces of callers`, async (t) => {
    const collector = await collectorOf(t);
    const { node, get } = await withServer(t, tracingTo(collector.endpoint, rate));
    node.addPod("web");
    await node.runs("web");
    const caller = "0af7651916cd43dd8448eb211c80319c";
    await get("/pods", `00-${caller}-b7ad6b7169203331-01`);
    await get("/pods", `00-${caller}-b7ad6b7169203331-00`);
    await get("/pods");
    await node.stopAgent();
    assert.deepEqual(
      collector.spans.map(({ name, traceId }) => [name, traceId]),
      [["/pods", caller]],
    );
    const [call] = node.runtime.callsOf("RunPodSandbox");
    assert.match(
      call?.traceparent ?? "",
      /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/,
      "the trace context is not propagated as unsampled",
    );
  });

test("no trace context is propagated without tracing", async (t) => {
  const node = await TestCluster.start(t);
  await node.startAgent();
  node.addPod("web");
  await node.runs("web");
  assert.deepEqual(
    node.runtime.calls.filter(({ traceparent }) => traceparent !== undefined),
    [],
  );
});

test("an unavailable or unresponsive collector delays neither pods nor the shutdown of the agent", async (t) => {
  const stopped = await TraceCollector.start();
  stopped.stop();
  const silent = await collectorOf(t);
  silent.behavior = "silent";
  for (const { endpoint } of [stopped, silent]) {
    const node = await TestCluster.start(t);
    await node.startAgent({ config: { ...node.config(), ...tracingTo(endpoint, always) } });
    for (let i = 0; i < 5; i++) node.addPod(`web${i}`);
    for (let i = 0; i < 5; i++) await node.runs(`web${i}`);
    node.api.deletePod("web0");
    await node.isGone("web0");
    await node.stopAgent();
  }
  assert.ok(silent.requests > 0, "the collector got no requests");
});

test("a collector that starts late gets the queued spans", async (t) => {
  const unavailable = await TraceCollector.start();
  const port = Number(unavailable.endpoint.split(":")[1]);
  unavailable.stop();
  const node = await TestCluster.start(t);
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  await node.startAgent({ config: { ...node.config(), ...tracingTo(unavailable.endpoint, always) }, logger });
  const { metadata } = node.addPod("web");
  await node.runs("web");
  await waitFor(() => assert.ok(warnings.includes("Failed to export traces")), 30_000);
  const collector = await TraceCollector.start(port);
  t.after(() => collector.stop());
  await waitFor(
    () => assert.ok(collector.of("syncPod").some((s) => s.attributes["k8s.pod.uid"] === metadata.uid)),
    30_000,
  );
});
