// Runs in a guest: sends each query of the command line to /logs/, with the journal of the guest, and prints the responses as JSON. A query that
// starts with "!" is a shell command that is run instead, and one that starts with "&" is run during the next query.

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { serveRoutes } from "../../src/kubelet/server/logs/fake-route-server.ts";
import { nodeLogs } from "../../src/kubelet/server/node-logs/node-logs.ts";
import { systemClock } from "../../src/lib/base/clock.ts";

const cleanups: (() => void)[] = [];
const context = { after: (work: () => void) => cleanups.push(work) } as unknown as TestContext;
const { url, faults } = await serveRoutes(context, [
  nodeLogs({ enabled: true, queries: true, clock: systemClock }),
]);

const shell = (command: string) => once(spawn("sh", ["-ec", command], { stdio: "ignore" }), "exit");

const responses: { query: string; status: number; text: string }[] = [];
let background: Promise<unknown> = Promise.resolve();
for (const query of process.argv.slice(2)) {
  if (query.startsWith("!")) await shell(query.slice(1));
  else if (query.startsWith("&")) background = shell(query.slice(1));
  else {
    const response = await fetch(`${url}/logs/?${query}`);
    responses.push({ query, status: response.status, text: await response.text() });
    await background;
  }
}
for (const cleanup of cleanups) cleanup();
console.log(JSON.stringify({ responses, faults }));
