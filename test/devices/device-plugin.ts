import { type FSWatcher, watch } from "node:fs";
import { appendFile, mkdir, readFile, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { create, type DescMethod, type DescService, type Message, toJson } from "@bufbuild/protobuf";
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { methodDefinition, serviceDefinition } from "../../src/lib/clients/cri/service-definition.ts";
import {
  type AllocateRequest,
  DevicePlugin,
  ListAndWatchResponseSchema,
  type PreferredAllocationRequest,
  RegisterRequestSchema,
  Registration,
} from "../../src/lib/gen/deviceplugin/v1beta1/api_pb.js";
import { Registration as PluginRegistration } from "../../src/lib/gen/pluginregistration/v1/api_pb.js";

export interface DevicePluginOptions {
  readonly resource: string;
  /** Settings, recorded calls and the mount of containers; kept when the plugin stops. */
  readonly stateDir: string;
  /** `<root-dir>/device-plugins` */
  readonly dir: string;
  /** The socket in plugins_registry, if the plugin registers there; otherwise it does so at the kubelet's socket. */
  readonly registrationSocket?: string;
  readonly version?: string;
}

/** Read for each call, and whenever the file changes. */
export interface PluginSettings {
  readonly devices: readonly { readonly id: string; readonly healthy?: boolean; readonly node?: number }[];
  readonly preStart?: boolean;
  readonly preferred?: boolean;
  /** By method: the call never returns, or fails. */
  readonly faults?: Readonly<Record<string, "hang" | "fail" | "empty">>;
}

/**
 * A small device plugin on real sockets. Each device is an alias of /dev/null in the container, named by its ID. It keeps no state in
 * memory, and registers again whenever the kubelet's socket is replaced.
 */
export async function serveDevicePlugin(options: DevicePluginOptions): Promise<void> {
  await mkdir(join(options.stateDir, "mount"), { recursive: true });
  const plugin = new TestDevicePlugin(options);
  await plugin.serve();
}

class TestDevicePlugin {
  readonly #o: DevicePluginOptions;
  readonly #socket: string;
  readonly #streams = new Set<ServerWritableStream<Message, Message>>();
  #server: Server | undefined;
  #listening = Promise.resolve();
  #registeredAt = "";
  readonly #watchers: FSWatcher[] = [];

  constructor(options: DevicePluginOptions) {
    this.#o = options;
    this.#socket = options.registrationSocket ?? join(options.dir, `${basename(options.resource)}.sock`);
  }

  async serve(): Promise<void> {
    const { dir, stateDir, registrationSocket } = this.#o;
    this.#watchers.push(watch(stateDir, (_, name) => name === "settings.json" && void this.#list()));
    if (registrationSocket) return this.#listen();
    await mkdir(dir, { recursive: true });
    this.#watchers.push(watch(dir, (_, name) => name === "kubelet.sock" && void this.#follow()));
    void this.#follow();
  }

  /** Serves and registers again if the kubelet has recreated its socket: it has removed all others. */
  async #follow(): Promise<void> {
    const kubelet = await stat(join(this.#o.dir, "kubelet.sock"), { bigint: true }).catch(() => undefined);
    const identity = kubelet ? `${kubelet.ino}:${kubelet.ctimeNs}` : "";
    if (identity === "" || identity === this.#registeredAt) return;
    this.#registeredAt = identity;
    await this.#listen();
    await this.#register().catch(async ({ message }: Error) => {
      await this.#record("Register", { failed: message });
      this.#registeredAt = "";
      setTimeout(() => void this.#follow(), 200);
    });
  }

  /** One at a time: the kubelet's socket may be replaced again in the meantime. */
  #listen(): Promise<void> {
    this.#listening = this.#listening.then(() => this.#bind());
    return this.#listening;
  }

  async #bind(): Promise<void> {
    this.#server?.forceShutdown();
    this.#streams.clear();
    await rm(this.#socket, { force: true });
    await mkdir(dirname(this.#socket), { recursive: true });
    const server = new Server();
    const { method } = DevicePlugin;
    const unary = (of: DescMethod, respond: (request: Message) => Promise<object>) => ({
      [of.name]: this.#unary(of, respond),
    });
    server.addService(serviceDefinition(DevicePlugin), {
      ...unary(method.getDevicePluginOptions, async () => {
        const { preStart = false, preferred = false } = await this.#settings();
        return { preStartRequired: preStart, getPreferredAllocationAvailable: preferred };
      }),
      ...unary(method.allocate, (request) => this.#allocate(request as AllocateRequest)),
      ...unary(method.preStartContainer, async () => ({})),
      ...unary(method.getPreferredAllocation, (request) =>
        this.#preferred(request as PreferredAllocationRequest),
      ),
      [method.listAndWatch.name]: (stream: ServerWritableStream<Message, Message>) => {
        this.#streams.add(stream);
        stream.on("close", () => this.#streams.delete(stream));
        void this.#record("ListAndWatch", {}).then(() => this.#list());
      },
    });
    if (this.#o.registrationSocket) {
      const { resource, version = "v1beta1" } = this.#o;
      const registration = PluginRegistration.method;
      server.addService(serviceDefinition(PluginRegistration as DescService), {
        ...unary(registration.getInfo, async () => ({
          type: "DevicePlugin",
          name: resource,
          endpoint: this.#socket,
          supportedVersions: [version],
        })),
        ...unary(registration.notifyRegistrationStatus, async () => ({})),
      });
    }
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix://${this.#socket}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
    this.#server = server;
  }

  /** Registers as old Go clients do, which send the path of the socket as :authority. */
  async #register(): Promise<void> {
    const { dir, resource, version = "v1beta1" } = this.#o;
    const path = join(dir, "kubelet.sock");
    const client = new Client(`unix://${path}`, credentials.createInsecure(), {
      "grpc.default_authority": path,
    });
    const definition = methodDefinition(Registration.method.register);
    const request = create(RegisterRequestSchema, {
      version,
      endpoint: basename(this.#socket),
      resourceName: resource,
    });
    try {
      await new Promise<void>((resolve, reject) => {
        const { requestSerialize, responseDeserialize } = definition;
        const deadline = Date.now() + 30_000;
        client.makeUnaryRequest(
          definition.path,
          requestSerialize,
          responseDeserialize,
          request,
          new Metadata(),
          { deadline },
          (error) => (error ? reject(error) : resolve()),
        );
      });
    } finally {
      client.close();
    }
  }

  async #list(): Promise<void> {
    const { devices } = await this.#settings();
    const message = create(ListAndWatchResponseSchema, {
      devices: devices.map(({ id, healthy = true, node }) => ({
        ID: id,
        health: healthy ? "Healthy" : "Unhealthy",
        ...(node !== undefined && { topology: { nodes: [{ ID: BigInt(node) }] } }),
      })),
    });
    for (const stream of this.#streams) stream.write(message);
  }

  async #allocate({ containerRequests }: AllocateRequest): Promise<object> {
    const { resource, stateDir } = this.#o;
    const variable = basename(resource).toUpperCase();
    return {
      containerResponses: containerRequests.map(({ devicesIds }) => ({
        envs: { [`${variable}_DEVICES`]: devicesIds.join(",") },
        devices: devicesIds.map((id) => ({
          containerPath: `/dev/${basename(resource)}-${id}`,
          hostPath: "/dev/null",
          permissions: "rw",
        })),
        mounts: [
          {
            containerPath: `/plugin/${basename(resource)}`,
            hostPath: join(stateDir, "mount"),
            readOnly: true,
          },
        ],
        annotations: { [`devices.test/${basename(resource)}`]: devicesIds.join("_") },
      })),
    };
  }

  /** The last ones, in reverse. */
  async #preferred({ containerRequests }: PreferredAllocationRequest): Promise<object> {
    return {
      containerResponses: containerRequests.map((request) => ({
        deviceIDs: [
          ...request.mustIncludeDeviceIDs,
          ...request.availableDeviceIDs
            .filter((id) => !request.mustIncludeDeviceIDs.includes(id))
            .sort((a, b) => (a < b ? 1 : -1)),
        ].slice(0, request.allocationSize),
      })),
    };
  }

  #unary(method: DescMethod, respond: (request: Message) => Promise<object>) {
    return async ({ request }: ServerUnaryCall<Message, Message>, done: sendUnaryData<Message>) => {
      await this.#record(method.name, toJson(method.input, request));
      const fault = (await this.#settings()).faults?.[method.name];
      if (fault === "hang") return;
      if (fault === "fail") return done({ code: status.INTERNAL, details: `${method.name} is broken` });
      const response = (fault === "empty" ? {} : await respond(request)) as Record<string, unknown>;
      done(null, create(method.output, response) as Message);
    };
  }

  async #record(method: string, request: unknown): Promise<void> {
    await appendFile(join(this.#o.stateDir, "calls.jsonl"), `${JSON.stringify({ method, request })}\n`);
  }

  async #settings(): Promise<PluginSettings> {
    return JSON.parse(await readFile(join(this.#o.stateDir, "settings.json"), "utf8")) as PluginSettings;
  }
}
