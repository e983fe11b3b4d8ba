import type { Component } from "../../lib/base/component.ts";
import { openPlugin } from "../../lib/clients/plugin-rpc/plugin-channel.ts";
import { devicePluginDir } from "../node/node-directories.ts";
import type { PluginHandler } from "../plugins/plugin-handler.ts";
import { DeviceManager } from "../resources/devices/device-manager.ts";
import { DeviceRegistrationServer } from "../server/device-registration/device-registration-server.ts";
import { readySandbox, runningContainers } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";

export interface NodeDevices {
  readonly manager: DeviceManager;
  /** Accepts registrations at the kubelet's own socket. */
  readonly server: Component;
  /** Handles those in the directory of all plugins. */
  readonly handler: PluginHandler;
}

/** Device plugins and the devices of containers. */
export function nodeDevices(core: AgentCore): NodeDevices {
  const { options, node, observed, clock, logger, metrics, post } = core;
  const dir = devicePluginDir(options);
  const manager = new DeviceManager({
    dir,
    clock,
    logger,
    metrics,
    open: (socketPath) => openPlugin(socketPath, clock),
    numaNodes: node.topology.numaNodes.map(({ id }) => id),
    isLive: (uid) => {
      const pod = observed.get(uid);
      return readySandbox(pod) !== undefined || runningContainers(pod).length > 0;
    },
    nodePods: core.nodePods,
    extendedResourcesByDra: core.options.gates.enabled("DRAExtendedResource"),
    onChange: (pods) => post({ kind: "devices-changed", pods }),
  });
  const { plugins } = manager;
  return {
    manager,
    server: new DeviceRegistrationServer({
      dir,
      logger,
      plugins,
    }),
    handler: {
      validate: ({ name, versions }) => plugins.validate(name, versions),
      register: ({ name, endpoint }, signal) => plugins.register(name, endpoint, signal),
      deregister: async ({ name, endpoint }) => plugins.deregister(name, endpoint),
    },
  };
}
