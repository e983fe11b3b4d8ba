import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { PodRow } from "../app/pod-board.ts";
import { KubeletError, messageOf } from "../base/errors.ts";
import { defaultBaseDir } from "../local/node-files.ts";
import { LiveView } from "./live-view.ts";
import { parseOptions } from "./options.ts";
import { podTable } from "./pod-table.ts";

export const podsUsage = `kubelet pods: the pods of the kubelet that runs on this machine

  -o json            the whole status of each, as JSON
  -w                 go on showing them as they change
  --node NAME        of the node that \`kubelet up --name NAME\` started
  --root-dir DIR     of the kubelet with this root folder
`;

interface Answer {
  runtime: { ok: boolean; reason?: string };
  pods: PodRow[];
}

export async function podsCommand(args: readonly string[], out: NodeJS.WriteStream): Promise<number> {
  const options = parseOptions(args, {
    o: "value",
    w: "switch",
    node: "value",
    "root-dir": "value",
    help: "switch",
  });
  if (options.help) {
    out.write(podsUsage);
    return 0;
  }
  const format = options.o ?? "table";
  if (format !== "json" && format !== "table")
    throw new KubeletError("Usage", `-o ${format}: only json is known (without -o a table is shown)`);
  const socketPath = await findSocket(options.node, options["root-dir"]);
  const watch = options.w === true;
  const view = new LiveView(out, Date.now);
  await ask(socketPath, watch, (answer) => {
    if (format === "json") out.write(`${JSON.stringify(answer.pods, undefined, watch ? undefined : 2)}\n`);
    else if (watch) view.show(answer.pods, answer.runtime.ok ? [] : [answer.runtime.reason ?? ""]);
    else out.write(`${podTable(answer.pods, Date.now()).join("\n")}\n`);
  });
  return 0;
}

/** The socket of the kubelet that is meant: as told, or the only one there is. */
async function findSocket(node: string | undefined, rootDir: string | undefined): Promise<string> {
  if (rootDir) return join(rootDir, "kubelet.sock");
  if (node) return join(defaultBaseDir, node, "kubelet", "kubelet.sock");
  const nodes = await readdir(defaultBaseDir).catch(() => []);
  const candidates = [
    "/var/lib/kubelet/kubelet.sock",
    ...nodes.map((name) => join(defaultBaseDir, name, "kubelet", "kubelet.sock")),
  ];
  const found: string[] = [];
  // A kubelet that was killed leaves its socket behind.
  for (const path of candidates) if (await listens(path)) found.push(path);
  if (found.length === 0)
    throw new KubeletError("NotRunning", "no kubelet runs here: start one with `kubelet up`");
  if (found.length > 1)
    throw new KubeletError(
      "Usage",
      `several kubelets run here; say which with --root-dir:\n${found.map((f) => `  ${f.replace(/\/kubelet\.sock$/, "")}`).join("\n")}`,
    );
  return found[0]!;
}

function listens(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

/** An agent that is there answers at once, unless somebody stopped the process. */
const answerWithinMs = 5000;

function ask(socketPath: string, watch: boolean, onAnswer: (answer: Answer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) =>
      reject(new KubeletError("NotRunning", `no kubelet answers on ${socketPath}: ${messageOf(error)}`));
    const ended = () => reject(new KubeletError("NotRunning", `the kubelet on ${socketPath} has ended`));
    const call = request({ socketPath, path: watch ? "/pods?watch" : "/pods" }, (response) => {
      clearTimeout(timer);
      const lines = createInterface({ input: response });
      lines.on("line", (line) => onAnswer(JSON.parse(line) as Answer));
      // A watch has no end of its own.
      lines.on("close", watch ? ended : resolve);
      lines.on("error", watch ? ended : fail);
    });
    const timer = setTimeout(
      () => call.destroy(new Error(`nothing heard within ${answerWithinMs / 1000} s`)),
      answerWithinMs,
    );
    call.on("error", (error) => {
      clearTimeout(timer);
      fail(error);
    });
    call.end();
  });
}
