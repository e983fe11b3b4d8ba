// npm run bench [-- burst | restart | volumes | list-watch | idle | streams] [options]: starts on the installed Node, continues on Node 24.
import { spawnSync } from "node:child_process";
import { needLinux, node24, prepareNode, root } from "./lib/node-packages.mjs";

needLinux();
prepareNode();
const args = process.argv.slice(2);
const scripts = args[0] && !args[0].startsWith("-") ? [args.shift()] : ["burst", "restart"];
for (const script of scripts) {
  const done = spawnSync(node24, [`${root}test/bench/${script}.ts`, ...args], {
    stdio: "inherit",
    cwd: root,
  });
  if (done.status !== 0) process.exitCode = done.status ?? 1;
}
