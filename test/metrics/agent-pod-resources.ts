import assert from "node:assert/strict";
import { connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { it } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { credentials, Client as GrpcClient } from "@grpc/grpc-js";
import { systemClock } from "../../src/lib/base/clock.ts";
import { hasGrpcCode } from "../../src/lib/clients/cri/cri-error.ts";
import { callUnary } from "../../src/lib/clients/cri/grpc-call.ts";
import {
  ListPodResourcesRequestSchema,
  ListPodResourcesResponseSchema,
  PodResourcesLister,
} from "../../src/lib/gen/podresources/v1/api_pb.js";
import { PodResourcesLister as AlphaLister } from "../../src/lib/gen/podresources/v1alpha1/api_pb.js";
import { waitFor } from "../e2e/wait-for.ts";
import type { MeteredNode } from "./metered-node.ts";

const limits = { clock: systemClock, timeoutMs: 10_000, signal: undefined };
/** The authority that clients send on a unix socket: it differs by library. */
const authorities = ["localhost", "%2Frun%2Fkubelet.sock", "/run/kubelet.sock", "passthrough:///x", "unix"];

/** The PodResources API for a monitoring agent on the node. */
export function agentPodResources(node: () => MeteredNode): void {
  const socket = () => join(node().apiNode.node.rootDir, "pod-resources/kubelet.sock");
  const v1 = PodResourcesLister.method;

  it("pod resources: a gRPC client gets pods and allocatable resources, and its requests are counted", async () => {
    const client = new GrpcClient(`unix://${socket()}`, credentials.createInsecure());
    try {
      const { podResources } = await callUnary(client, v1.list, {}, limits);
      const names = podResources.map(({ namespace, name }) => `${namespace}/${name}`);
      assert.ok(names.includes("default/web") && names.includes("default/fixed-node-a"), names.join());
      assert.ok(!names.includes("default/crash"), "a terminated pod has resources");
      const web = podResources.find(({ name }) => name === "web");
      assert.deepEqual(
        web?.containers.map(({ name, devices, cpuIds, memory }) => [name, devices, cpuIds, memory]),
        [["c", [], [], []]],
      );
      const one = await callUnary(client, v1.get, { podNamespace: "default", podName: "web" }, limits);
      assert.equal(one.podResources?.name, "web");
      await assert.rejects(
        callUnary(client, v1.get, { podNamespace: "default", podName: "none" }, limits),
        (error: Error) =>
          hasGrpcCode(error, "UNKNOWN") && /pod none in namespace default not found/.test(error.message),
      );
      const all = await callUnary(client, v1.getAllocatableResources, {}, limits);
      assert.deepEqual([all.devices, all.cpuIds, all.memory], [[], [], []]);
      const older = await callUnary(client, AlphaLister.method.list, {}, limits);
      assert.ok(older.podResources.some(({ name }) => name === "web"));
      const reported = await node().metrics("/metrics");
      const count = (name: string) =>
        reported
          .get(`kubelet_pod_resources_endpoint_${name}`)
          ?.samples.find((s) => s.labels.server_api_version === "v1")?.value;
      assert.deepEqual(
        ["requests_total", "requests_list", "requests_get", "errors_get", "requests_get_allocatable"].map(
          count,
        ),
        [4, 1, 2, 1, 1],
      );
    } finally {
      client.close();
    }
  });

  it("pod resources: any authority of a client is accepted", async () => {
    for (const authority of authorities) {
      const response = await waitFor(() => rawList(socket(), authority));
      assert.deepEqual([response.status, response.grpcStatus], [200, "0"], JSON.stringify(authority));
      assert.ok(response.pods.includes("web"), authority);
    }
  });

  it("pod resources: too many concurrent requests are rejected, and the next is served", async () => {
    const client = new GrpcClient(`unix://${socket()}`, credentials.createInsecure());
    try {
      const responses = await Promise.allSettled(
        Array.from({ length: 200 }, () => callUnary(client, v1.list, {}, limits)),
      );
      const rejected = responses.filter((a) => a.status === "rejected");
      assert.ok(rejected.length > 0);
      for (const { reason } of rejected) assert.ok(hasGrpcCode(reason, "RESOURCE_EXHAUSTED"), String(reason));
      await waitFor(() => callUnary(client, v1.list, {}, limits));
    } finally {
      client.close();
    }
  });
}

/** Sends one List request as raw HTTP/2, so that no library sets its headers. */
function rawList(
  socketPath: string,
  authority: string,
): Promise<{ status: number; grpcStatus: string; pods: string[] }> {
  return new Promise((resolve, reject) => {
    const session = connect("http://localhost", { createConnection: () => connectSocket(socketPath) });
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":scheme": "http",
      ":path": "/v1.PodResourcesLister/List",
      ":authority": authority,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const message = toBinary(ListPodResourcesRequestSchema, create(ListPodResourcesRequestSchema));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    const parts: Buffer[] = [];
    let status = 0;
    let grpcStatus = "";
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
      grpcStatus ||= String(headers["grpc-status"] ?? "");
    });
    stream.on("trailers", (trailers) => {
      grpcStatus = String(trailers["grpc-status"] ?? "");
    });
    stream.on("data", (chunk: Buffer) => parts.push(chunk));
    stream.on("error", reject);
    stream.on("end", () => {
      session.close();
      const bytes = Buffer.concat(parts).subarray(5);
      if (grpcStatus !== "0") return reject(new Error(`grpc-status ${grpcStatus}`));
      const { podResources } = fromBinary(ListPodResourcesResponseSchema, bytes);
      resolve({ status, grpcStatus, pods: podResources.map(({ name }) => name) });
    });
    stream.end(Buffer.concat([head, message]));
  });
}
