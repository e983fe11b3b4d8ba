import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, status } from "@grpc/grpc-js";
import { whenAborted } from "../../../lib/base/abort.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { serviceDefinition } from "../../../lib/clients/cri/service-definition.ts";
import { shortened } from "../../../lib/clients/plugin-rpc/shortened.ts";
import {
  type Empty,
  EmptySchema,
  type RegisterRequest,
  Registration,
} from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import type { PluginConnections } from "../../resources/devices/plugin-connections.ts";
import { GrpcComponent } from "../grpc-socket/grpc-component.ts";

export interface DeviceRegistrationOptions {
  /** `/var/lib/kubelet/device-plugins`: the sockets of plugins are here too. */
  readonly dir: string;
  readonly logger: Logger;
  readonly plugins: Pick<PluginConnections, "requested" | "stop">;
}

/** Sockets have shorter paths. */
const maxEndpoint = 255;

/** Accepts registrations of device plugins. */
export class DeviceRegistrationServer extends GrpcComponent {
  readonly name = "device-registration";
  readonly #o: DeviceRegistrationOptions;
  readonly #stopping = new AbortController();

  constructor(options: DeviceRegistrationOptions) {
    super(join(options.dir, "kubelet.sock"), options.logger);
    this.#o = options;
  }

  /** Plugins register again when their own socket or the kubelet's socket is replaced. */
  override async start(signal: AbortSignal): Promise<void> {
    await this.#removeSockets();
    whenAborted(signal, () => this.#stopping.abort());
    await super.start(signal);
  }

  override get done(): Promise<void> {
    return super.done.then(() => this.#o.plugins.stop());
  }

  protected override server(): Server {
    const server = new Server({ "grpc.enable_channelz": 0 });
    const register: handleUnaryCall<RegisterRequest, Empty> = ({ request }, respond) => {
      const { version, endpoint, resourceName: resource } = request;
      this.#register(version, resource, endpoint).then(
        () => respond(null, create(EmptySchema)),
        (error: unknown) => respond({ code: status.UNKNOWN, details: messageOf(error) }),
      );
    };
    server.addService(serviceDefinition(Registration), { [Registration.method.register.name]: register });
    return server;
  }

  async #register(version: string, resource: string, endpoint: string): Promise<void> {
    const { dir, plugins } = this.#o;
    const socketPath = join(dir, endpoint);
    // A plugin may have access to this directory only: through the agent, it would connect to any socket of the node.
    const isInside = socketPath.startsWith(join(dir, "/")) && !socketPath.includes("\0");
    if (!isInside || endpoint.length > maxEndpoint)
      throw new KubeletError(
        "DevicePluginEndpoint",
        `the endpoint ${JSON.stringify(shortened(endpoint, maxEndpoint))} is not in the directory of device plugins`,
      );
    await plugins.requested({ version, resource, socketPath }, this.#stopping.signal);
  }

  async #removeSockets(): Promise<void> {
    const { dir, logger } = this.#o;
    const names = await readdir(dir).catch(() => []);
    for (const path of names.map((name) => join(dir, name)))
      try {
        if ((await stat(path)).isSocket()) await rm(path, { force: true });
      } catch (error) {
        logger.warn("Failed to remove socket of device plugin", { path, err: messageOf(error) });
      }
  }
}
