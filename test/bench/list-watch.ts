// The cost of a list-watch of many pods: memory beyond an idle client, and how long it blocks the event loop.
// Limits: see list-watch-client.ts.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { type OptionTable, type OptionValues, UsageError } from "./options.ts";

export const summary = "the cost of a list-watch of many pods (no root, no runtime)";
export const options = {
  pods: { kind: "count", default: 1000, help: "pods that are listed" },
  rate: { kind: "count", default: 1000, help: "updates a second" },
  seconds: { kind: "count", default: 5, help: "how long updates are followed" },
  list: {
    kind: "text",
    help: "comma-separated: whole, pages, streamed, or agent for its pipeline; all unless set",
  },
} as const satisfies OptionTable;
const kinds = ["whole", "pages", "streamed", "agent"];

async function bench(client: string, kind: string, values: OptionValues<typeof options>): Promise<boolean> {
  const pages = kind === "pages" ? ["--pages"] : [];
  const server = fork(new URL("list-watch-server.ts", import.meta.url), [
    ...["--pods", String(values.pods), "--rate", String(values.rate)],
    ...pages,
  ]);
  try {
    const [{ port }] = (await once(server, "message")) as [{ port: number }];
    const options = {
      server: `http://127.0.0.1:${port}`,
      pods: values.pods,
      seconds: values.seconds,
      list: kind,
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    // The Node.js options of bin/kubelet.
    const execArgv = ["--max-semi-space-size=1", "--optimize-for-size", "--heap-growing-percent=60"];
    const measured = fork(client, args, { execArgv });
    const [code] = (await once(measured, "exit")) as [number | null];
    return code === 0;
  } finally {
    server.disconnect();
  }
}

export async function run(o: OptionValues<typeof options>): Promise<boolean> {
  const chosen = o.list === undefined ? kinds : o.list.split(",");
  const unknown = chosen.find((kind) => !kinds.includes(kind));
  if (unknown !== undefined) throw new UsageError(`--list: "${unknown}" is none of ${kinds.join(", ")}`);
  const dir = await mkdtemp(join(tmpdir(), "list-watch-bench-"));
  try {
    // Built and run like the kubelet: a process that strips TypeScript types uses more memory and CPU.
    const client = join(dir, "client.cjs");
    const entry = join(import.meta.dirname, "list-watch-client.ts");
    await build({ entryPoints: [entry], outfile: client, bundle: true, platform: "node", format: "cjs" });
    let ok = true;
    for (const kind of chosen) ok = (await bench(client, kind, o)) && ok;
    return ok;
  } finally {
    await rm(dir, { recursive: true });
  }
}
