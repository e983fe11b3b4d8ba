// A DRA driver as a process of its own, for tests that kill it: node dra-driver-process.ts '<options as JSON>'
import { type DraDriverOptions, serveDraDriver } from "./dra-driver.ts";

await serveDraDriver(JSON.parse(process.argv[2] ?? "{}") as DraDriverOptions);
process.stdout.write("serving\n");
// It ends with the test.
process.stdin.on("end", () => process.exit()).resume();
