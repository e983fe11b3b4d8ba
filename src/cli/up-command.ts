import { access, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Agent } from "../kubelet/agent/agent.ts";
import type { ConsoleOptions } from "../kubelet/agent/agent-options.ts";
import type { ClusterOptions } from "../kubelet/certs/cluster-access.ts";
import { clusterAccess } from "../kubelet/certs/cluster-access.ts";
import { systemClock } from "../lib/base/clock.ts";
import { type Logger, silentLogger } from "../lib/base/logger.ts";
import { createMetrics } from "../lib/base/metrics.ts";
import { loadKubeconfig } from "../lib/clients/kube/kubeconfig.ts";
import type { KubeletConfiguration } from "../lib/config/kubelet-configuration.ts";
import { persistentPort } from "../lib/host/free-port.ts";
import { nodeAddresses, nodeName } from "../lib/host/node-info.ts";
import { ApiProcess } from "../single-node/api-process.ts";
import { type LocalNode, startLocalNode } from "../single-node/local-node.ts";
import { type NodeFiles, nodeFiles } from "../single-node/node-files.ts";
import { demoPod } from "./demo-pod.ts";
import { logRejections } from "./faults.ts";
import { LiveView } from "./live-view.ts";
import {
  fileLogger,
  localNodeConfiguration,
  requireBinaries,
  startLocalAgent,
  userConfiguration,
} from "./local-agent.ts";
import { parseOptions } from "./options.ts";
import { servedConsole } from "./served-console.ts";
import { untilSignal } from "./signals.ts";
import { version } from "./version.ts";

const upUsage = `kubelet up: start a single-node cluster on this machine, with a private containerd, an API server and a demo pod

  --name NAME        name of the node, to run several (default: default)
  --base-dir DIR     directory for its files (default: /var/lib/kubelet-ts)
  --run-dir DIR      directory for its sockets (default: /run/kubelet-ts)
  --config FILE      a KubeletConfiguration for its node; directories, runtime and address cannot be changed
  --no-api           no API server: static pods only, no kubectl; ConfigMaps and Secrets come from files
  --no-console       no console: every path of it is unknown

The link to the console is valid once; \`kubelet console\` prints a new one.
Ctrl-C stops it and removes everything it started. Manifests, logs and API objects are kept: the next start runs the
same pods again.

Examples:
  kubelet up                                 a node with an API server and a console
  kubelet up --no-api                        a node for static pods and \`kubelet apply\`
  kubelet up --name two --base-dir /srv/two  a second node on this machine
`;

/** The grace period of pods when the node is shut down. */
const terminationGraceSeconds = 3;

export async function upCommand(args: readonly string[], out: NodeJS.WriteStream): Promise<number> {
  const options = parseOptions(args, {
    name: "value",
    "base-dir": "value",
    "run-dir": "value",
    config: "value",
    "no-api": "switch",
    "no-console": "switch",
    help: "switch",
  });
  if (options.help) {
    out.write(upUsage);
    return 0;
  }
  const name = options.name ?? "default";
  const files = nodeFiles(name, options["base-dir"], options["run-dir"]);
  const binaries = requireBinaries();
  const loaded = await userConfiguration(options.config);
  const signaled = untilSignal(["SIGINT", "SIGTERM", "SIGHUP"]);
  const aborted = new AbortController();
  void signaled.then(() => aborted.abort());
  const isNew = await access(files.manifests).then(
    () => false,
    () => true,
  );
  out.write(`Starting a private containerd (${binaries.containerd}) …\n`);
  let node: LocalNode;
  try {
    node = await startLocalNode({
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
  const metrics = createMetrics();
  let agent: Agent | undefined;
  let api: ApiProcess | undefined;
  let cluster: ReturnType<typeof clusterAccess> | undefined;
  try {
    if (isNew) await writeDemoPod(join(files.manifests, "demo.yaml"), node.images.demo);
    const log = fileLogger(dirname(files.podLogs));
    logRejections(log.logger);
    for (const warning of loaded.warnings) log.logger.warn(warning);
    const config = await localNodeConfiguration(node, loaded.config);
    if (!options["no-api"]) {
      api = apiOf(node, log.logger);
      out.write("Starting the API …\n");
      await api.start(aborted.signal);
      cluster = clusterAccess({
        access: await loadKubeconfig(join(files.api.dir, "kubelet.kubeconfig")),
        config,
        gates: loaded.gates,
        kubeletVersion: version,
        metrics,
        clock: systemClock,
        logger: log.logger,
      });
    }
    const kind = cluster ? await withCluster(cluster, node, config) : await withoutCluster(files, config);
    const { setVerbosity } = log;
    const console = options["no-console"] ? undefined : await consoleOf(files, options, log.logger);
    agent = await startLocalAgent(node, log.logger, {
      ...kind,
      gates: loaded.gates,
      metrics,
      setVerbosity,
      version,
      ...(console && { console }),
    });
    if (cluster) out.write(`kubectl:   export KUBECONFIG=${files.api.kubeconfig}\n`);
    out.write(
      `Pods:      ${cluster ? "kubectl, " : ""}kubelet apply, or drop manifests into ${files.manifests}\n`,
    );
    if (!cluster) out.write(`Objects:   ConfigMaps and Secrets for them: ${files.objects}\n`);
    if (console) out.write(`Console:   ${agent.consoleLink()}\n`);
    out.write(`Log:       ${log.path}\n`);
    out.write(`Health:    http://127.0.0.1:${agent.healthPort}/healthz\n`);
    out.write("Ctrl-C stops the node and everything in it.\n\n");
    await showUntil(signaled, agent, out);
    out.write("\nStopping the pods …\n");
    // Before the pods: their termination would be reported to the API, and the next start would not run them again.
    await api?.stop();
    await agent.terminatePods({ graceSeconds: terminationGraceSeconds, withinMs: 20_000 });
    return 0;
  } catch (error) {
    if (aborted.signal.aborted) return 130;
    throw error;
  } finally {
    await api?.stop();
    await agent?.stop();
    cluster?.close();
    out.write("Stopping containerd and removing mounts, networks and cgroups …\n");
    const { remaining: left } = await node.stop();
    for (const what of left) out.write(`failed to remove ${what}\n`);
    if (left.length === 0) out.write("Everything is stopped.\n");
  }
}

/** Options with the embedded API: only its API server may access the kubelet API. */
async function withCluster(cluster: ClusterOptions, node: LocalNode, given: KubeletConfiguration) {
  const { base, api } = node.files;
  const [address = "127.0.0.1"] = await nodeAddresses(undefined);
  const config = structuredClone(given);
  config.address = address;
  config.port = await persistentPort(join(base, "port"), address, config.port);
  config.authentication.x509.clientCAFile = join(api.dir, "pki", "ca.crt");
  return { cluster, config, certDir: join(base, "pki"), server: { version } };
}

/** Without an API, ConfigMaps and Secrets come from a directory. */
async function withoutCluster({ objects }: NodeFiles, config: KubeletConfiguration) {
  await mkdir(objects, { recursive: true, mode: 0o700 });
  return { config, localObjects: objects };
}

/** Runs this program again, as `kubelet api`. */
function apiOf({ files, serviceRange, podSubnet }: LocalNode, logger: Logger): ApiProcess {
  const { dir, kubeconfig, log } = files.api;
  const args = [
    ...["--dir", dir, "--kubeconfig", kubeconfig, "--node", nodeName(undefined), "--until-eof"],
    ...["--service-range", serviceRange, "--pod-range", podSubnet],
  ];
  return new ApiProcess({
    program: [process.execPath, ...process.execArgv, process.argv[1] ?? ""],
    args: ["api", ...args],
    log,
    logger,
  });
}

/** On a loopback port of its own. Port and sessions are kept: an open page continues after a restart. */
async function consoleOf(
  { base, kubelet }: NodeFiles,
  selected: { readonly name?: string; readonly "base-dir"?: string },
  logger: Logger,
): Promise<ConsoleOptions> {
  const which =
    selected["base-dir"] === undefined ? `--node ${selected.name ?? "default"}` : `--root-dir ${kubelet}`;
  const loopbackPort = await persistentPort(join(base, "console-port"), "127.0.0.1", 10280);
  return servedConsole({
    clock: systemClock,
    logger,
    loopbackPort,
    linkCommand: `kubelet console ${which}`,
    sessionsFile: join(base, "console-sessions.json"),
  });
}

async function writeDemoPod(path: string, image: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, demoPod(image));
}

async function showUntil(end: Promise<unknown>, agent: Agent, out: NodeJS.WriteStream): Promise<void> {
  const view = new LiveView(out, Date.now);
  const show = () => {
    const runtime = agent.overview.runtime();
    const problems = agent
      .problems()
      .map((p) => `${p.file}${p.line ? `:${p.line}` : ""}: ${p.field ? `${p.field}: ` : ""}${p.message}`);
    view.show(agent.overview.rows(), [...(runtime.ok ? [] : [runtime.reason]), ...problems]);
  };
  const stop = agent.overview.onChange(show);
  // Ages and errors in manifests change without an event of a pod.
  const timer = setInterval(show, 1000);
  show();
  await end;
  clearInterval(timer);
  stop();
  view.end();
}
