// npm run neighbor [-- [options] [COMMAND ...]]: starts on the installed Node.js, continues on Node 24.
import { spawn } from "node:child_process";
import { needLinux, node24, prepareNode, root } from "./lib/node-packages.mjs";

needLinux();
await prepareNode();
const child = spawn(node24, [`${root}test/neighbor/neighbor.ts`, ...process.argv.slice(2)], {
  stdio: "inherit",
  cwd: root,
});
// It stops on its own; a terminal sends Ctrl-C to both.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.once("close", (code) => {
  process.exitCode = code ?? 1;
});
