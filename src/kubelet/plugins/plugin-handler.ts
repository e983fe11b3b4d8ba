/** What a plugin says of itself. */
export interface Plugin {
  readonly name: string;
  /** The socket that serves it. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** Who uses the plugins of one type. */
export interface PluginHandler {
  /** Throws if such a plugin cannot be used; the message is told to the plugin. */
  validate(plugin: Plugin): void;
  /**
   * From now on the plugin is used. If it throws, it has undone all: the message is told to the plugin. An abort for another
   * reason than SocketChanged means that the agent ends: then what others know of the plugin stays as it is.
   */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** The plugin is gone. Nobody can be told of a failure. */
  deregister(plugin: Plugin): Promise<void>;
}

/** By the word that plugins call their type. */
export type PluginHandlers = Readonly<
  Partial<Record<"CSIPlugin" | "DevicePlugin" | "DRAPlugin", PluginHandler>>
>;
