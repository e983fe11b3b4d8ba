// npm start: prepares this machine for a local node and runs one. Starts on the installed Node.js.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { linkKubectlPlugin } from "./lib/kubectl-plugin.mjs";
import { needLinux, node24, prepareNode, root } from "./lib/node-packages.mjs";

needLinux();
// Ctrl-C reaches npm and apt as well: this process waits until they have exited, so that they do not interfere with the next start.
let interrupted = false;
const onSignal = () => {
  interrupted = true;
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, onSignal);
await prepareNode();
linkKubectlPlugin();
await new Promise((resolve) => setImmediate(resolve)); // signals that arrived in the meantime are delivered now
if (interrupted) process.exit(130);

const node = spawn(`${root}bin/kubelet`, ["up", ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, KUBELET_NODE: node24 },
});

// Ctrl-C reaches the whole process group, so the child as well: this process only waits until it has cleaned up. A signal
// to this process alone is passed on, as SIGTERM.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => node.kill("SIGTERM"));

node.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
node.on("exit", (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
