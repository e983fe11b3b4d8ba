// npm run bench [-- MODE] [options]: starts on the installed Node.js, continues on Node 24. --help lists modes and options.
import { spawnSync } from "node:child_process";
import { needLinux, node24, prepareNode, root } from "./lib/node-packages.mjs";

needLinux();
await prepareNode();
const args = [`${root}test/bench/main.ts`, ...process.argv.slice(2)];
// Files are relative to where npm was started.
const cwd = process.env.INIT_CWD ?? process.cwd();
process.exitCode = spawnSync(node24, args, { stdio: "inherit", cwd }).status ?? 1;
