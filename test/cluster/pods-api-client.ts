import { join } from "node:path";
import { create, fromBinary, type Message } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Client, type ClientReadableStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { decodeProtobuf } from "../../src/apiserver/protobuf/protobuf.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { callUnary } from "../../src/lib/clients/cri/grpc-call.ts";
import { methodDefinition } from "../../src/lib/clients/cri/service-definition.ts";
import { EventType, Pods, WatchPodsEventSchema } from "../../src/lib/gen/pods/v1alpha1/api_pb.js";
import type { Pod } from "../../src/lib/model/pod.ts";

export interface PodEvent {
  type: keyof typeof EventType;
  pod: Pod | undefined;
}

const limits = { clock: systemClock, timeoutMs: 10_000, signal: undefined };

/** A client of the node's Pods API, on the socket of an agent. */
export class PodsApiClient {
  readonly #client: Client;

  constructor(rootDir: string) {
    this.#client = new Client(
      `unix://${join(rootDir, "pods-api/pods-api.sock")}`,
      credentials.createInsecure(),
    );
  }

  async list(): Promise<Pod[]> {
    const { pods } = await callUnary(this.#client, Pods.method.listPods, {}, limits);
    return pods.map(decodePod);
  }

  async get(podUID: string): Promise<Pod> {
    const { pod } = await callUnary(this.#client, Pods.method.getPod, { podUID }, limits);
    return decodePod(pod);
  }

  /** Events as they arrive, or on demand if it is paused. */
  watch(): PodWatchClient {
    const { path, requestSerialize } = methodDefinition(Pods.method.watchPods);
    const stream = this.#client.makeServerStreamRequest(
      path,
      requestSerialize,
      (bytes: Buffer) => fromBinary(WatchPodsEventSchema, bytes),
      create(Pods.method.watchPods.input) as Message,
      new Metadata(),
    );
    return new PodWatchClient(stream);
  }

  close(): void {
    this.#client.close();
  }
}

export class PodWatchClient {
  readonly events: PodEvent[] = [];
  readonly stream: ClientReadableStream<{ type: EventType; pod: Uint8Array }>;
  error: ServiceError | undefined;

  constructor(stream: ClientReadableStream<{ type: EventType; pod: Uint8Array }>) {
    this.stream = stream;
    stream.on("data", ({ type, pod }: { type: EventType; pod: Uint8Array }) =>
      this.events.push({
        type: EventType[type] as PodEvent["type"],
        pod: pod.length > 0 ? decodePod(pod) : undefined,
      }),
    );
    stream.on("error", (error: ServiceError) => {
      this.error = error;
    });
  }

  /** The events of one pod. */
  of(uid: string): PodEvent[] {
    return this.events.filter(({ pod }) => pod?.metadata.uid === uid);
  }
}

/** The bytes of a v1.Pod, in the envelope that the API's decoder expects. */
function decodePod(bytes: Uint8Array): Pod {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string("v1");
  writer.tag(2, WireType.LengthDelimited).string("Pod");
  writer.join();
  writer.tag(2, WireType.LengthDelimited).bytes(bytes);
  const whole = Buffer.concat([Buffer.from("k8s\0"), writer.finish()]);
  return decodeProtobuf(whole) as unknown as Pod;
}
