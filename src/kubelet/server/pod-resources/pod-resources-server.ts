import { create, type DescMethodUnary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, status } from "@grpc/grpc-js";
import type { Clock } from "../../../lib/base/clock.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { RateLimit } from "../../../lib/base/rate-limit.ts";
import { serviceDefinition } from "../../../lib/clients/cri/service-definition.ts";
import { PodResourcesLister } from "../../../lib/gen/podresources/v1/api_pb.js";
import { PodResourcesLister as AlphaLister } from "../../../lib/gen/podresources/v1alpha1/api_pb.js";
import { GrpcComponent } from "../grpc-socket/grpc-component.ts";
import { allocatable, alphaList, podResources } from "./responses.ts";
import type { PodResourcesSources } from "./sources.ts";

type ApiVersion = "v1" | "v1alpha1";

type Call = "list" | "get" | "get_allocatable";

interface RequestCounts {
  requested(version: ApiVersion, call: Call): void;
  failed(version: ApiVersion, call: Call): void;
}

export interface PodResourcesServerOptions {
  /** `<root-dir>/pod-resources/kubelet.sock` */
  readonly socketPath: string;
  readonly sources: PodResourcesSources;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const perSecond = 100;
const burst = 10;

/** Reports to agents on the node which container has which resources. */
export class PodResourcesServer extends GrpcComponent {
  readonly name = "pod-resources";
  readonly #o: PodResourcesServerOptions;
  readonly #limit: RateLimit;
  readonly #counts: RequestCounts;

  constructor(options: PodResourcesServerOptions) {
    super(options.socketPath, options.logger);
    this.#o = options;
    this.#limit = new RateLimit(perSecond, burst, options.clock);
    this.#counts = requestCounts(options.metrics);
  }

  protected override server(): Server {
    const { sources } = this.#o;
    const server = new Server({ "grpc.enable_channelz": 0 });
    const v1 = PodResourcesLister.method;
    const alpha = AlphaLister.method;
    server.addService(serviceDefinition(PodResourcesLister), {
      [v1.list.name]: this.#unary(v1.list, "v1", "list", () => ({
        podResources: sources.pods.active().map((pod) => podResources(pod, sources)),
      })),
      [v1.getAllocatableResources.name]: this.#unary(
        v1.getAllocatableResources,
        "v1",
        "get_allocatable",
        () => allocatable(sources),
      ),
      [v1.get.name]: this.#unary(v1.get, "v1", "get", ({ podName, podNamespace }) => {
        const pod = sources.pods.byName(podNamespace, podName);
        if (!pod) throw new Error(`pod ${podName} in namespace ${podNamespace} not found`);
        return { podResources: podResources(pod, sources) };
      }),
    });
    server.addService(serviceDefinition(AlphaLister), {
      [alpha.list.name]: this.#unary(alpha.list, "v1alpha1", "list", () => alphaList(sources)),
    });
    return server;
  }

  #unary<M extends DescMethodUnary>(
    method: M,
    version: ApiVersion,
    call: Call,
    respond: (request: MessageShape<M["input"]>) => MessageInitShape<M["output"]>,
  ): handleUnaryCall<MessageShape<M["input"]>, MessageShape<M["output"]>> {
    return ({ request }, callback) => {
      if (!this.#limit.tryTake())
        return callback({ code: status.RESOURCE_EXHAUSTED, details: "rejected by rate limit" });
      this.#counts.requested(version, call);
      try {
        callback(null, create(method.output, respond(request)) as MessageShape<M["output"]>);
      } catch (error) {
        this.#counts.failed(version, call);
        callback({ code: status.UNKNOWN, details: messageOf(error) });
      }
    };
  }
}

function requestCounts(metrics: Metrics): RequestCounts {
  const counter = (name: string, help: string) =>
    metrics.counter({
      name: `kubelet_pod_resources_endpoint_${name}`,
      help,
      labels: ["server_api_version"],
    });
  const total = counter("requests_total", "Cumulative number of requests to the PodResource endpoint");
  const each = (what: string, call: Call) =>
    counter(`${what}_${call}`, `Number of ${what} of the PodResource ${call} call`);
  const calls = ["list", "get", "get_allocatable"] as const;
  const requests = Object.fromEntries(calls.map((call) => [call, each("requests", call)]));
  const errors = Object.fromEntries(calls.map((call) => [call, each("errors", call)]));
  return {
    requested(version, call) {
      total.inc({ server_api_version: version });
      // v1alpha1 is only counted in total.
      if (version === "v1") requests[call]?.inc({ server_api_version: version });
    },
    failed: (version, call) => errors[call]?.inc({ server_api_version: version }),
  };
}
