import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import type { KubeRequest, KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";
import { AgentLog } from "./agent-log.ts";
import { container, nodeName, TestCluster } from "./cluster-node.ts";

const forbidden = 'serviceaccounts "default" is forbidden:';
const rejections: [string, string][] = [
  [
    "the Node authorizer",
    `${forbidden} User "system:node:${nodeName}" cannot create resource "serviceaccounts/token" in API group "" in the namespace "default": no relationship found between node '${nodeName}' and this object`,
  ],
  ["NodeRestriction", `${forbidden} node requested token bound to a pod scheduled on a different node`],
];

/** The API with tokens of service accounts; it rejects the first request for a pod, as if it did not know the pod yet. */
class LateTokenApi implements KubeTransport {
  requests = 0;
  readonly #api: KubeTransport;
  readonly #message: string;

  constructor(api: KubeTransport, message: string) {
    this.#api = api;
    this.#message = message;
  }

  async request<T>(request: KubeRequest): Promise<T> {
    if (!request.path.endsWith("/token")) return this.#api.request<T>(request);
    if (++this.requests === 1)
      throw new KubeApiError({ status: 403, reason: "Forbidden", message: this.#message });
    const expirationTimestamp = new Date(Date.now() + 3600_000).toISOString();
    return { spec: { expirationSeconds: 3600 }, status: { token: "t", expirationTimestamp } } as T;
  }

  stream(...args: Parameters<KubeTransport["stream"]>): ReturnType<KubeTransport["stream"]> {
    return this.#api.stream(...args);
  }

  close(): void {}
}

for (const [who, message] of rejections)
  test(`a token that ${who} rejects for a pod it does not know yet is requested again without a log line`, async (t) => {
    const cluster = await TestCluster.start(t);
    const log = new AgentLog();
    const transport = new LateTokenApi(cluster.api, message);
    await cluster.startAgent({ cluster: { transport, kubeletVersion: "v1.36.4" }, logger: log.logger });
    const from = log.lines.length;
    const sources = [{ serviceAccountToken: { path: "token", expirationSeconds: 3600 } }];
    cluster.addPod("web", {
      dnsPolicy: "Default",
      serviceAccountName: "default",
      volumes: [{ name: "v", projected: { sources } }],
      containers: [container({ volumeMounts: [{ name: "v", mountPath: "/v" }] })],
    });
    await cluster.runs("web");
    assert.equal(transport.requests, 2);
    assert.deepEqual(cluster.events("web", "FailedMount"), []);
    assert.deepEqual(log.problems(from), [], log.lines.join("\n"));
  });
