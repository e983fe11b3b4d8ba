import type { IncomingMessage } from "node:http";
import type { TestContext } from "node:test";
import { NodeRestriction } from "../../src/apiserver/auth/admission/node-restriction.ts";
import { FixedAuthorizer } from "../../src/apiserver/auth/authorize/authorizer.ts";
import { NodeGraphPopulator } from "../../src/apiserver/auth/authorize/node-graph-populator.ts";
import { certificateSigningRequests } from "../../src/apiserver/auth/csr/definition.ts";
import { definitions } from "../../src/apiserver/kinds/definitions.ts";
import { podDefinition } from "../../src/apiserver/kinds/pods/pod-definition.ts";
import { ApiServer } from "../../src/apiserver/server.ts";
import { memoryStore } from "../../src/apiserver/storage/fixtures.ts";
import type { ClusterOptions } from "../../src/kubelet/certs/cluster-access.ts";
import { clusterAccess } from "../../src/kubelet/certs/cluster-access.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import type { Tracer } from "../../src/lib/base/tracing/tracer.ts";
import { type KubeAccess, parseKubeconfig } from "../../src/lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { nodeName } from "./cluster-node.ts";

/** The embedded API over HTTP, where the agent has the permissions of a node only. */
export interface EmbeddedApi {
  /** The agent's access. */
  readonly cluster: ClusterOptions;
  /** An administrator's access. */
  readonly admin: HttpKubeTransport;
  /** Rejected requests of the agent, except those with status 404: "403 patch /api/v1/…". */
  readonly rejected: string[];
  /** The traceparent headers of all requests. */
  readonly traceparents: Set<string>;
}

const admin = "admin";
const logger = silentLogger;
const clock = systemClock;

export async function startEmbeddedApi(t: TestContext, tracer?: Tracer): Promise<EmbeddedApi> {
  const store = memoryStore();
  const rejected: string[] = [];
  const traceparents = new Set<string>();
  const objects = () => server.objects;
  const relations = new NodeGraphPopulator({ objects, clock, logger });
  const server: ApiServer = new ApiServer({
    store,
    clock,
    definitions: definitions({
      pods: podDefinition({ mountTokens: false }),
      reviews: [],
      serviceAccountToken: { kind: "action", run: async () => ({}) } as never,
      certificateSigningRequests: certificateSigningRequests({ minimumSeconds: 600 }),
    }),
    authenticator: {
      authenticate: async (request) => {
        const { traceparent } = request.headers;
        if (typeof traceparent === "string") traceparents.add(traceparent);
        return callerOf(request);
      },
    },
    authorizer: new FixedAuthorizer({ relations }),
    admission: new NodeRestriction({ objects }),
    onRequest: ({ caller, verb, path, status }) => {
      if (caller?.name !== admin && status >= 400 && status !== 404)
        rejected.push(`${status} ${verb} ${path}`);
    },
  });
  const stop = new AbortController();
  await server.start(stop.signal);
  await relations.start(stop.signal);
  const access = accessTo(`http://127.0.0.1:${server.port}`);
  const cluster = clusterAccess({
    access,
    config: { kubeAPIQPS: 50, kubeAPIBurst: 100 },
    kubeletVersion: "v1.36.4",
    clock,
    logger,
    tracer,
  });
  const user = new HttpKubeTransport({ access, userAgent: admin, qps: 0, burst: 0, clock, logger });
  t.after(async () => {
    cluster.close();
    user.close();
    stop.abort();
    await Promise.all([server.done, relations.done]);
    store.close();
  });
  return { cluster, admin: user, rejected, traceparents };
}

/** Without TLS there are no client certificates: the user agent decides which user a client is. */
function callerOf({ headers }: IncomingMessage) {
  const isNode = headers["user-agent"]?.startsWith("kubelet/");
  const group = isNode ? "system:nodes" : "system:masters";
  return { name: isNode ? `system:node:${nodeName}` : admin, groups: [group, "system:authenticated"] };
}

function accessTo(server: string): KubeAccess {
  const file = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: {} }],
  };
  return parseKubeconfig(JSON.stringify(file), "kubeconfig");
}
