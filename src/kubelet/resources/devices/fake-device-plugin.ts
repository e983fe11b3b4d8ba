import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { whenAborted } from "../../../lib/base/abort.ts";
import { abortError } from "../../../lib/base/errors.ts";
import type { StreamingPluginChannel } from "../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { RpcError } from "../../../lib/clients/plugin-rpc/rpc-error.ts";
import {
  AllocateResponseSchema,
  type ContainerAllocateResponseSchema,
  type DeviceSchema,
  type ListAndWatchResponse,
  ListAndWatchResponseSchema,
} from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";

type Response = MessageInitShape<typeof ContainerAllocateResponseSchema>;

/** A plugin in memory. A test may set its responses; a call that returns a pending promise hangs. */
export class FakeDevicePlugin {
  devices: MessageInitShape<typeof DeviceSchema>[];
  options = { preStartRequired: false, getPreferredAllocationAvailable: false };
  /** Each call with its devices. */
  readonly calls: string[] = [];
  onAllocate: (ids: string[]) => Promise<Response[]> = async (ids) => [{ envs: { IDS: ids.join(",") } }];
  onPreferred: (offered: string[], mustInclude: string[], size: number) => Promise<string[]> = async () => [];
  /** Replaces the response of GetDevicePluginOptions. */
  onOptions: () => Promise<FakeDevicePlugin["options"]> = async () => this.options;
  onPreStart: (ids: string[]) => Promise<void> = async () => {};
  #streams = new Set<{ send: () => void; fail: () => void }>();

  constructor(ids: readonly string[]) {
    this.devices = ids.map((ID) => ({ ID, health: "Healthy" }));
  }

  /** Sends the list of devices to all watchers. */
  list(): void {
    for (const { send } of this.#streams) send();
  }

  setHealth(id: string, health: "Healthy" | "Unhealthy"): void {
    this.devices = this.devices.map((device) => (device.ID === id ? { ...device, health } : device));
    this.list();
  }

  /** The process dies. */
  kill(): void {
    for (const { fail } of [...this.#streams]) fail();
  }

  open(): StreamingPluginChannel {
    const call = async (
      method: DescMethod,
      request: Record<string, never>,
      { signal }: { signal: AbortSignal },
    ) => {
      const work = this.#handle(method.name, request);
      const gone = new Promise<never>((_, reject) =>
        whenAborted(signal, () => reject(abortError(signal.reason))),
      );
      gone.catch(() => {});
      return Promise.race([work, gone]);
    };
    return {
      connected: async () => {},
      close() {},
      // One function for all methods: their responses depend on the name of the method.
      call: call as unknown as StreamingPluginChannel["call"],
      stream: ((
        _method: DescMethod,
        onMessage: (message: ListAndWatchResponse) => void,
        signal: AbortSignal,
      ) =>
        new Promise<void>((_, reject) => {
          const stream = {
            send: () => onMessage(create(ListAndWatchResponseSchema, { devices: this.devices })),
            fail: () => {
              this.#streams.delete(stream);
              reject(new RpcError("UNAVAILABLE", "ListAndWatch", "connection closed"));
            },
          };
          this.#streams.add(stream);
          whenAborted(signal, () => stream.fail());
          queueMicrotask(() => this.#streams.has(stream) && stream.send());
        })) as unknown as StreamingPluginChannel["stream"],
    };
  }

  async #handle(name: string, request: Record<string, never>): Promise<object> {
    const [first] = (request.containerRequests ?? []) as Record<string, string[] | number>[];
    const ids = ((first?.devicesIds ?? request.devicesIds ?? []) as string[]).toSorted((a, b) =>
      a < b ? -1 : 1,
    );
    if (name === "GetDevicePluginOptions") return this.onOptions();
    this.calls.push(`${name} ${ids.join(",")}`.trim());
    if (name === "Allocate")
      return create(AllocateResponseSchema, { containerResponses: await this.onAllocate(ids) });
    if (name === "PreStartContainer") return (await this.onPreStart(ids)) ?? {};
    const offered = (first?.availableDeviceIDs ?? []) as string[];
    const must = (first?.mustIncludeDeviceIDs ?? []) as string[];
    const deviceIDs = await this.onPreferred(offered, must, first?.allocationSize as number);
    return { containerResponses: [{ deviceIDs }] };
  }
}
