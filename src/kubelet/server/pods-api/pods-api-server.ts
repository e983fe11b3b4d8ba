import { create } from "@bufbuild/protobuf";
import { type handleServerStreamingCall, type handleUnaryCall, Server, status } from "@grpc/grpc-js";
import type { Clock } from "../../../lib/base/clock.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { RateLimit } from "../../../lib/base/rate-limit.ts";
import { serviceDefinition } from "../../../lib/clients/cri/service-definition.ts";
import {
  type GetPodRequest,
  type GetPodResponse,
  GetPodResponseSchema,
  type ListPodsRequest,
  type ListPodsResponse,
  ListPodsResponseSchema,
  Pods,
  type WatchPodsEvent,
  type WatchPodsRequest,
} from "../../../lib/gen/pods/v1alpha1/api_pb.js";
import { encodePod } from "../../../lib/schema/protobuf/encode-pod.ts";
import { GrpcComponent } from "../grpc-socket/grpc-component.ts";
import type { PodFeed } from "./pod-feed.ts";

export interface PodsApiServerOptions {
  /** `<root-dir>/pods-api/pods-api.sock` */
  readonly socketPath: string;
  readonly feed: PodFeed;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Lists and gets; watches are not limited. */
const perSecond = 100;
const burst = 10;

/** Serves the pods of this node to clients on it, without the API server. */
export class PodsApiServer extends GrpcComponent {
  readonly name = "pods-api";
  readonly #o: PodsApiServerOptions;
  readonly #limit: RateLimit;

  constructor(options: PodsApiServerOptions) {
    super(options.socketPath, options.logger);
    this.#o = options;
    this.#limit = new RateLimit(perSecond, burst, options.clock);
  }

  protected override server(): Server {
    const { feed, logger } = this.#o;
    const list: handleUnaryCall<ListPodsRequest, ListPodsResponse> = this.#limited(() =>
      create(ListPodsResponseSchema, { pods: feed.list().map((pod) => encodePod(pod)) }),
    );
    const get: handleUnaryCall<GetPodRequest, GetPodResponse> = this.#limited(({ podUID }) => {
      const pod = feed.list().find(({ metadata }) => metadata.uid === podUID);
      if (!pod) throw new RpcError(status.NOT_FOUND, `pod with UID ${podUID} not found`);
      return create(GetPodResponseSchema, { pod: encodePod(pod) });
    });
    const watch: handleServerStreamingCall<WatchPodsRequest, WatchPodsEvent> = (call) => {
      logger.debug(4, "Pod watch started");
      const end = feed.watch(call);
      call.once("cancelled", () => {
        end();
        call.end();
      });
      call.once("close", end);
    };
    const { watchPods, listPods, getPod } = Pods.method;
    const server = new Server({ "grpc.enable_channelz": 0 });
    server.addService(serviceDefinition(Pods), {
      [watchPods.name]: watch,
      [listPods.name]: list,
      [getPod.name]: get,
    });
    return server;
  }

  #limited<I, O>(respond: (request: I) => O): handleUnaryCall<I, O> {
    return ({ request }, callback) => {
      if (!this.#limit.tryTake())
        return callback({ code: status.RESOURCE_EXHAUSTED, details: "rejected by rate limit" });
      try {
        callback(null, respond(request));
      } catch (error) {
        const failure = error instanceof RpcError ? error : undefined;
        callback({
          code: failure?.code ?? status.INTERNAL,
          details: failure?.message ?? `failed to marshal pod: ${messageOf(error)}`,
        });
      }
    };
  }
}

class RpcError extends Error {
  readonly code: status;
  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}
