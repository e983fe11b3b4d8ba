import { resolve } from "node:path";
import { type Agent, startAgent } from "../kubelet/agent/agent.ts";
import type { PodRow } from "../kubelet/explain/pod-overview.ts";
import { decodeManifest } from "../kubelet/pipeline/sources/manifest.ts";
import type { PodSource, SourceProblem } from "../kubelet/pipeline/sources/source.ts";
import { whenAborted } from "../lib/base/abort.ts";
import { systemClock } from "../lib/base/clock.ts";
import { KubeletError } from "../lib/base/errors.ts";
import { createLogger } from "../lib/base/log-writer.ts";
import { type Logger, silentLogger } from "../lib/base/logger.ts";
import { printable, printableLines } from "../lib/base/terminal-text.ts";
import { loadConfiguration } from "../lib/config/load.ts";
import type { Pod } from "../lib/model/pod.ts";
import { removeAbandonedNodes } from "../single-node/abandoned.ts";
import { startLocalNode } from "../single-node/local-node.ts";
import { requireBinaries, startLocalAgent } from "./local-agent.ts";
import { parseOptions } from "./options.ts";
import { atLine, type FilePod, readPodFiles } from "./pod-files.ts";
import { untilSignal } from "./signals.ts";

const runUsage = `kubelet run -f pod.yaml: run pods once to completion and print the result of each

  -f FILE            pods as YAML or JSON, one or more per file; a directory of such files; - for standard input.
                     May be repeated
  --keep             keep the pods in the runtime after they have terminated
  other flags        as for the agent; with --container-runtime-endpoint or --config the pods run in that runtime,
                     otherwise in a temporary private containerd

A pod that would be restarted forever (restartPolicy Always) runs once. The exit status is 1 if a pod failed.

Examples:
  kubelet run -f job.yaml  run it, print its result, clean up
`;

export async function runCommand(args: readonly string[], out: NodeJS.WriteStream): Promise<number> {
  const options = parseOptions(args, { f: "values", keep: "switch", help: "switch" }, true);
  if (options.help) {
    out.write(runUsage);
    return 0;
  }
  const paths = options.f ?? [];
  if (paths.length === 0) throw new KubeletError("Usage", "kubelet run: must specify -f FILE");
  const signaled = untilSignal(["SIGINT", "SIGTERM", "SIGHUP"]);
  const loaded = await loadConfiguration({ args: options.rest });
  const ownRuntime = !options.rest.some((arg) => /^--(container-runtime-endpoint|config)\b/.test(arg));
  const verbosity = loaded.config.logging.verbosity;
  const logger: Logger =
    verbosity > 0
      ? createLogger({
          format: "text",
          verbosity,
          write: (line) => process.stderr.write(line),
          now: () => new Date(),
          pid: process.pid,
        })
      : silentLogger;
  const localObjects = loaded.flags.localObjects === "" ? undefined : loaded.flags.localObjects;
  const files = await readPodFiles(paths, process.stdin);
  const decode = (nodeName: string) => decodePods(files, nodeName, localObjects !== undefined);
  // The manifests are validated before anything is started.
  for (const warning of decode("check").warnings) process.stderr.write(`${printableLines(warning)}\n`);
  const pods: Pod[] = [];
  const sources = (nodeName: string) => [onceSource(pods, () => decode(nodeName).pods)];
  if (ownRuntime) {
    const binaries = requireBinaries();
    await removeAbandonedNodes(/^run-(\d+)$/); // of killed runs
    const node = await startLocalNode({ name: `run-${process.pid}`, binaries, logger });
    try {
      const agent = await startLocalAgent(node, logger, { sources, localObjects });
      return await finish(agent, pods, signaled, out, false);
    } finally {
      await node.stop({ keep: "nothing" });
    }
  }
  const { hostnameOverride, nodeIP, rootDir } = loaded.flags;
  const agent = await startAgent({
    config: { ...loaded.config, healthzPort: 0 },
    gates: loaded.gates,
    rootDir,
    hostnameOverride,
    nodeIp: nodeIP,
    terminatesOrphans: false,
    sources,
    localObjects,
    clock: systemClock,
    logger,
  });
  return finish(agent, pods, signaled, out, options.keep === true);
}

function decodePods(
  files: readonly FilePod[],
  nodeName: string,
  hasLocalObjects: boolean,
): { pods: Pod[]; warnings: string[] } {
  const pods: Pod[] = [];
  const warnings: string[] = [];
  for (const from of files) {
    const origin = { source: "file", path: resolve(from.file) } as const;
    const manifest = decodeManifest(Buffer.from(from.text), { nodeName, hasLocalObjects, origin });
    const shown = (problem: SourceProblem) => atLine(from, problem);
    if ("problems" in manifest) throw new KubeletError("Manifest", manifest.problems.map(shown).join("\n"));
    pods.push(...manifest.pods);
    warnings.push(...manifest.warnings.map(shown));
  }
  for (const pod of pods) if (pod.spec.restartPolicy !== "OnFailure") pod.spec.restartPolicy = "Never";
  return { pods, warnings };
}

/** A source that emits a fixed set of pods once. */
function onceSource(pods: Pod[], read: () => readonly Pod[]): PodSource {
  const stopped = Promise.withResolvers<void>();
  return {
    name: "file",
    done: stopped.promise,
    async start(signal, emit) {
      whenAborted(signal, stopped.resolve);
      pods.push(...read());
      emit(pods);
    },
  };
}

/** Waits for all pods to terminate, prints the result of each, and cleans up. */
async function finish(
  agent: Agent,
  pods: readonly Pod[],
  signaled: Promise<NodeJS.Signals>,
  out: NodeJS.WriteStream,
  keep: boolean,
): Promise<number> {
  try {
    const terminated = new Map<string, PodRow>();
    const allEnded = new Promise<void>((resolve) => {
      const check = () => {
        for (const row of agent.overview.rows()) {
          if (
            terminated.has(row.uid) ||
            (row.status?.phase !== "Succeeded" && row.status?.phase !== "Failed")
          )
            continue;
          terminated.set(row.uid, row);
          out.write(`${printable(result(row))}\n`);
        }
        if (pods.every((pod) => terminated.has(pod.metadata.uid))) resolve();
      };
      agent.overview.onChange(check);
      check();
    });
    const signal = await Promise.race([allEnded, signaled]);
    if (signal) {
      for (const pod of pods)
        if (!terminated.has(pod.metadata.uid))
          out.write(`${pod.metadata.namespace}/${pod.metadata.name}: interrupted\n`);
    }
    if (!keep) await agent.terminatePods({ graceSeconds: 2, withinMs: 30_000 });
    return signal || [...terminated.values()].some((row) => row.status?.phase === "Failed") ? 1 : 0;
  } finally {
    await agent.stop();
  }
}

function result(row: PodRow): string {
  const containers = [...(row.status?.initContainerStatuses ?? []), ...(row.status?.containerStatuses ?? [])];
  const exits = containers.flatMap((c) => {
    const end = c.state?.terminated;
    return end
      ? [`${c.name} exited ${end.exitCode}${end.reason === "Completed" ? "" : ` (${end.reason})`}`]
      : [];
  });
  return `${row.namespace}/${row.name}: ${row.status?.phase}${exits.length > 0 ? `: ${exits.join(", ")}` : ""}`;
}
