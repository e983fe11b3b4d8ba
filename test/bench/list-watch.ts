// The cost of a list-watch of many pods: memory beyond an idle client, and how long it blocks the event loop.
// Exits with 1 if over the limits.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({
  options: {
    pods: { type: "string", default: "1000" },
    rate: { type: "string", default: "1000" },
    seconds: { type: "string", default: "5" },
    /** How the pods are listed: all in one response, in pages, or streamed; or by the agent's pipeline. */
    list: { type: "string", default: "whole,pages,streamed,agent" },
  },
});

async function bench(client: string, kind: string): Promise<void> {
  const pages = kind === "pages" ? ["--pages"] : [];
  const server = fork(new URL("list-watch-server.ts", import.meta.url), [
    ...["--pods", values.pods, "--rate", values.rate],
    ...pages,
  ]);
  try {
    const [{ port }] = (await once(server, "message")) as [{ port: number }];
    const { pods, seconds } = values;
    const options = [
      "--server",
      `http://127.0.0.1:${port}`,
      "--pods",
      pods,
      "--seconds",
      seconds,
      "--list",
      kind,
    ];
    const measured = fork(client, options, { execArgv: ["--max-semi-space-size=1", "--optimize-for-size"] });
    const [code] = (await once(measured, "exit")) as [number | null];
    if (code !== 0) process.exitCode = 1;
  } finally {
    server.disconnect();
  }
}

const dir = await mkdtemp(join(tmpdir(), "list-watch-bench-"));
try {
  // Built and run like the kubelet: a process that strips TypeScript types uses more memory and CPU.
  const client = join(dir, "client.cjs");
  const entry = join(import.meta.dirname, "list-watch-client.ts");
  await build({ entryPoints: [entry], outfile: client, bundle: true, platform: "node", format: "cjs" });
  for (const kind of values.list.split(",")) await bench(client, kind);
} finally {
  await rm(dir, { recursive: true });
}
