import { request } from "node:http";
import { createInterface } from "node:readline";
import type { PodRow } from "../kubelet/explain/pod-overview.ts";
import { KubeletError, messageOf } from "../lib/base/errors.ts";
import { terminalJson } from "../lib/base/terminal-text.ts";
import { findSocket, socketOptions, socketUsage } from "./agent-socket.ts";
import { LiveView } from "./live-view.ts";
import { parseOptions } from "./options.ts";
import { podTable } from "./pod-table.ts";

const podsUsage = `kubelet pods: list the pods of the kubelet that runs on this machine

  -o json            print the full status of each pod as JSON
  -w                 watch for changes
${socketUsage}

Examples:
  kubelet pods -w                               follow all changes
  kubelet pods -o json | jq '.[].status.phase'  for a script
`;

interface PodsResponse {
  runtime: { ok: boolean; reason?: string };
  pods: PodRow[];
}

export async function podsCommand(args: readonly string[], out: NodeJS.WriteStream): Promise<number> {
  const options = parseOptions(args, {
    o: "value",
    w: "switch",
    ...socketOptions,
    help: "switch",
  });
  if (options.help) {
    out.write(podsUsage);
    return 0;
  }
  const format = options.o ?? "table";
  if (format !== "json" && format !== "table")
    throw new KubeletError("Usage", `-o ${format}: only json is supported (the default is a table)`);
  const socketPath = await findSocket(options);
  const watch = options.w === true;
  const view = new LiveView(out, Date.now);
  await requestPods(socketPath, watch, ({ pods, runtime }) => {
    if (format === "json") out.write(`${terminalJson(pods, watch ? undefined : 2)}\n`);
    else if (watch) view.show(pods, runtime.ok ? [] : [runtime.reason ?? ""]);
    else out.write(`${podTable(pods, Date.now()).join("\n")}\n`);
  });
  return 0;
}

/** A running agent responds immediately, unless its process is stopped (SIGSTOP). */
const responseTimeoutMs = 5000;

function requestPods(
  socketPath: string,
  watch: boolean,
  onPods: (response: PodsResponse) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(
        new KubeletError("NotRunning", `cannot connect to the kubelet at ${socketPath}: ${messageOf(error)}`),
      );
    const exited = () => reject(new KubeletError("NotRunning", `the kubelet at ${socketPath} has exited`));
    const call = request({ socketPath, path: watch ? "/pods?watch" : "/pods" }, (response) => {
      clearTimeout(timer);
      const lines = createInterface({ input: response });
      lines.on("line", (line) => onPods(JSON.parse(line) as PodsResponse));
      // A watch ends only when the kubelet exits.
      lines.on("close", watch ? exited : resolve);
      lines.on("error", watch ? exited : fail);
    });
    const timer = setTimeout(
      () => call.destroy(new Error(`no response within ${responseTimeoutMs / 1000} s`)),
      responseTimeoutMs,
    );
    call.on("error", (error) => {
      clearTimeout(timer);
      fail(error);
    });
    call.end();
  });
}
