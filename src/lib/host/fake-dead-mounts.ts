import { mkdirSync, openSync, writeSync } from "node:fs";
import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { FakeClock } from "../base/fake-clock.ts";
import { HangGuard } from "./hang-guard.ts";
import { libc } from "./libc.ts";
import { poolThreads } from "./thread-pool.ts";

// Accesses more dead filesystems than there are threads, and reports whether other files can still be read. A separate
// process, which is killed: it could not exit otherwise, and the kill ends the calls that hang.
const [dir = ""] = process.argv.slice(2);
const { mount } = await libc();
const dead: string[] = [];
for (let i = 0; i < poolThreads() + 2; i++) {
  const target = join(dir, String(i));
  mkdirSync(target);
  // Its server never responds.
  const server = openSync("/dev/fuse", "r+");
  const data = `fd=${server},rootmode=40000,user_id=0,group_id=0`;
  await mount({ source: "dead", target, fsType: "fuse", flags: 0, data });
  dead.push(target);
}
const clock = new FakeClock();
const guard = new HangGuard(clock);
const ends = Promise.allSettled(dead.map((path) => guard.run(path, () => statfs(path))));
await stat(dir);
await clock.advance(5_000);
const rejected = (await ends).filter(({ status }) => status === "rejected");
await stat(dir);
writeSync(1, `read, ${rejected.length === dead.length ? "all" : "not all"} rejected\n`);
process.kill(process.pid, "SIGKILL");
