// A CSI driver as a process of its own, for tests that kill it: node csi-driver-process.ts '<options as JSON>'
import { type CsiDriverOptions, serveCsiDriver } from "./csi-driver.ts";

await serveCsiDriver(JSON.parse(process.argv[2] ?? "{}") as CsiDriverOptions);
process.stdout.write("serving\n");
