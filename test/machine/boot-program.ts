// A test process that boots a guest and never powers it off.
import { Machine } from "./machine.ts";

const machine = await Machine.boot();
process.stdout.write(`${machine.network.link}\n`);
setInterval(() => {}, 60_000);
