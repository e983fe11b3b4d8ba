import { access, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Agent } from "../app/agent.ts";
import { silentLogger } from "../base/logger.ts";
import { nodeFiles } from "../local/node-files.ts";
import { type PrivateNode, startPrivateNode } from "../local/private-node.ts";
import { demoPod } from "./demo-pod.ts";
import { LiveView } from "./live-view.ts";
import { parseOptions } from "./options.ts";
import { fileLogger, requireBinaries, startPrivateAgent } from "./private-agent.ts";
import { untilSignal } from "./signals.ts";

export const upUsage = `kubelet up: a node on this machine, with a containerd of its own and a demo pod

  --name NAME        run it beside others (default: default)
  --base-dir DIR     where it keeps its files (default: /var/lib/kubelet-ts)
  --run-dir DIR      where its sockets are (default: /run/kubelet-ts)

Ctrl-C ends it and removes everything it started. Manifests and logs are kept.
`;

/** How long pods get to end by themselves when the node is shut down. */
const farewellSeconds = 3;

export async function upCommand(args: readonly string[], out: NodeJS.WriteStream): Promise<number> {
  const options = parseOptions(args, {
    name: "value",
    "base-dir": "value",
    "run-dir": "value",
    help: "switch",
  });
  if (options.help) {
    out.write(upUsage);
    return 0;
  }
  const name = options.name ?? "default";
  const files = nodeFiles(name, options["base-dir"], options["run-dir"]);
  const binaries = requireBinaries();
  const signalled = untilSignal(["SIGINT", "SIGTERM", "SIGHUP"]);
  const aborted = new AbortController();
  void signalled.then(() => aborted.abort());
  const isNew = await access(files.manifests).then(
    () => false,
    () => true,
  );
  out.write(`Starting a private containerd (${binaries.containerd}) …\n`);
  let node: PrivateNode;
  try {
    node = await startPrivateNode({
      name,
      binaries,
      logger: silentLogger,
      baseDir: options["base-dir"],
      runDir: options["run-dir"],
      signal: aborted.signal,
    });
  } catch (error) {
    if (aborted.signal.aborted) return 130;
    throw error;
  }
  let agent: Agent | undefined;
  try {
    if (isNew) await writeDemoPod(join(files.manifests, "demo.yaml"), node.images.demo);
    const log = fileLogger(dirname(files.podLogs));
    agent = await startPrivateAgent(node, log.logger);
    out.write(`Pods:      drop manifests into ${files.manifests}\n`);
    out.write(`Log:       ${log.path}\n`);
    out.write(`Health:    http://127.0.0.1:${agent.healthPort}/healthz\n`);
    out.write("Ctrl-C ends the node and everything in it.\n\n");
    await showUntil(signalled, agent, out);
    out.write("\nEnding the pods …\n");
    await agent.endPods({ graceSeconds: farewellSeconds, withinMs: 20_000 });
    return 0;
  } finally {
    await agent?.stop();
    out.write("Ending containerd and removing mounts, networks and cgroups …\n");
    const { left } = await node.stop();
    for (const what of left) out.write(`could not remove ${what}\n`);
    if (left.length === 0) out.write("Nothing is left running.\n");
  }
}

async function writeDemoPod(path: string, image: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, demoPod(image));
}

async function showUntil(end: Promise<unknown>, agent: Agent, out: NodeJS.WriteStream): Promise<void> {
  const view = new LiveView(out, Date.now);
  const show = () => {
    const runtime = agent.board.runtime();
    const problems = agent
      .problems()
      .map((p) => `${p.file}${p.line ? `:${p.line}` : ""}: ${p.field ? `${p.field}: ` : ""}${p.message}`);
    view.show(agent.board.rows(), [...(runtime.ok ? [] : [runtime.reason]), ...problems]);
  };
  const stop = agent.board.onChange(show);
  // Ages grow, and manifests turn out to be bad, without any change of a pod.
  const timer = setInterval(show, 1000);
  show();
  await end;
  clearInterval(timer);
  stop();
  view.end();
}
