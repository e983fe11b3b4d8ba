import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wallTime } from "../../lib/base/time.ts";
import type { KubeRequest } from "../../lib/clients/kube/transport-interface.ts";
import { fakeSettings } from "./fake-info.ts";
import { newLease } from "./lease.ts";
import { httpStatusOf, kubeLeaseApi, kubeNodeApi } from "./node-api.ts";
import { initialNode } from "./node-object.ts";

function recorder() {
  const calls: KubeRequest[] = [];
  const transport = {
    request: async <T>(call: KubeRequest) => {
      calls.push(call);
      return { metadata: { name: "n" } } as T;
    },
  };
  return { calls, options: { transport, nodeName: "n", timeoutMs: 10_000 } };
}
const { signal } = new AbortController();

describe("requests about the node itself", () => {
  it("are for the node, its status and its lease only", async () => {
    const { calls, options } = recorder();
    const node = kubeNodeApi(options);
    const lease = kubeLeaseApi(options);
    const ours = newLease({ nodeName: "n", durationSeconds: 40 }, "u", wallTime(0));
    await node.get(signal);
    await node.create(initialNode(fakeSettings()), signal);
    await node.patchStatus({ status: {} }, signal);
    await lease.get(signal);
    await lease.create(ours, signal);
    await lease.update(ours, signal);
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    assert.deepEqual(
      calls.map(({ method, path, contentType }) => [method, path, contentType]),
      [
        ["GET", "/api/v1/nodes/n", undefined],
        ["POST", "/api/v1/nodes", undefined],
        ["PATCH", "/api/v1/nodes/n/status", "application/strategic-merge-patch+json"],
        ["GET", `${leases}/n`, undefined],
        ["POST", leases, undefined],
        ["PUT", `${leases}/n`, undefined],
      ],
    );
    assert.ok(calls.every((call) => call.timeoutMs === 10_000 && call.signal === signal));
  });

  it("return a complete node, even where the API omits empty fields", async () => {
    const node = await kubeNodeApi(recorder().options).get(signal);
    assert.deepEqual(node, { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, spec: {}, status: {} });
  });

  it("fail with the status of the response if they are rejected", () => {
    assert.equal(httpStatusOf({ status: 404 }), 404);
    assert.equal(httpStatusOf(new Error("x")), undefined);
    assert.equal(httpStatusOf(undefined), undefined);
  });
});
