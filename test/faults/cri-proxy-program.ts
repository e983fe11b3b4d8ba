// A transparent CRI proxy as a process of its own: node cri-proxy-program.ts SOCKET TARGET FILE. Each call is a line of the file: the
// method and the request in base64.
import { closeSync, openSync, writeSync } from "node:fs";
import { CriProxy } from "./cri-proxy.ts";

const [socket, target, file] = process.argv.slice(2);
if (!socket || !target || !file) throw new Error("usage: cri-proxy-program.ts SOCKET TARGET FILE");
const calls = openSync(file, "a");
const proxy = await CriProxy.open(socket, target);
proxy.onCall = (method, request) => void writeSync(calls, `${method} ${request.toString("base64")}\n`);
process.once("SIGTERM", async () => {
  await proxy.close();
  closeSync(calls);
});
