// A device plugin as a process of its own, for tests that kill it: node device-plugin-process.ts '<options as JSON>'
import { type DevicePluginOptions, serveDevicePlugin } from "./device-plugin.ts";

await serveDevicePlugin(JSON.parse(process.argv[2] ?? "{}") as DevicePluginOptions);
process.stdout.write("serving\n");
