/** The response of a plugin to GetInfo. */
export interface Plugin {
  readonly name: string;
  /** The socket that serves it. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** Handles the plugins of one type. */
export interface PluginHandler {
  /** Throws if such a plugin cannot be used; the message is sent to the plugin. */
  validate(plugin: Plugin): void;
  /**
   * Registers the plugin. Before it throws, it undoes everything. The plugin receives the message of the error. An abort
   * for a reason other than SocketChanged means that the agent stops: then the registration is kept.
   */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** Deregisters the plugin. There is no way to report a failure to the plugin. */
  deregister(plugin: Plugin): Promise<void>;
}

/** By the plugin type. */
export type PluginHandlers = Readonly<
  Partial<Record<"CSIPlugin" | "DevicePlugin" | "DRAPlugin", PluginHandler>>
>;
