// An API server for the list-watch benchmark, in a separate process. It sends updates of many pods to all watchers at a fixed
// rate.
import { createServer, type ServerResponse } from "node:http";
import { parseArgs } from "node:util";
import { realisticPod } from "./realistic-pod.ts";

const { values } = parseArgs({
  options: { pods: { type: "string" }, rate: { type: "string" }, pages: { type: "boolean", default: false } },
});
const rate = Number(values.rate);
const tickMs = 20;

let version = 1;
const pods = Array.from({ length: Number(values.pods) }, (_, i) => realisticPod(i, version++));

const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;

function list(query: URLSearchParams, response: ServerResponse): void {
  const limit = values.pages ? Number(query.get("limit") ?? 0) : 0;
  const start = Number(query.get("continue") ?? 0);
  const end = limit > 0 ? Math.min(pods.length, start + limit) : pods.length;
  const metadata = { resourceVersion: String(version), ...(end < pods.length && { continue: String(end) }) };
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata, items: pods.slice(start, end) }),
  );
}

function watch(query: URLSearchParams, response: ServerResponse): void {
  response.setHeader("content-type", "application/json");
  response.flushHeaders();
  if (query.get("sendInitialEvents") === "true") {
    for (const pod of pods) response.write(line("ADDED", pod));
    const annotations = { "k8s.io/initial-events-end": "true" };
    const metadata = { resourceVersion: String(version), annotations };
    response.write(line("BOOKMARK", { metadata }));
  }
  const began = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1000) * rate);
    let lines = "";
    for (; sent < due; sent++) {
      const index = sent % pods.length;
      pods[index] = realisticPod(index, ++version);
      lines += line("MODIFIED", { kind: "Pod", apiVersion: "v1", ...pods[index] });
    }
    response.write(lines);
  }, tickMs);
  response.on("close", () => clearInterval(timer));
}

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? "/", "http://server");
  if (searchParams.has("watch")) watch(searchParams, response);
  else list(searchParams, response);
});
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
process.on("disconnect", () => process.exit());
