import { basename } from "node:path";
import { KubeletError, messageOf } from "../../lib/base/errors.ts";
import { printable, terminalJson } from "../../lib/base/terminal-text.ts";
import { explanationLines } from "../explanation-lines.ts";
import { parseOptions } from "../options.ts";
import { completions } from "./complete.ts";
import { whyPods } from "./explain.ts";
import { Kubectl } from "./kubectl.ts";
import { nodeLines, whyNode } from "./node.ts";

const usage = `kubectl why [POD | node NAME]: show why a pod or a node is not ready, and what to try

  POD                  a pod (default: all pods of the namespace that are not ready)
  node NAME            a node: its conditions, its last eviction, what is left of each resource
  -n, --namespace NS   the namespace of the pods (default: that of the context)
  -A, --all-namespaces the pods of all namespaces that are not ready
  -w, --watch          show it again whenever it changes
  --all-steps          each step on its own line
  -o, --output json    print JSON
  other flags          as for kubectl, such as --context and --kubeconfig

Nodes with kubelet-ts explain their pods to users who may get nodes/proxy. For other nodes and users it shows the
cause from the status and the events of the pod.

Examples:
  kubectl why web-7d9c        the pod web-7d9c
  kubectl why -n shop         all pods of the namespace shop that are not ready
  kubectl why node worker-1   the node worker-1
`;

/** kubectl's own flags that take a value, and those that do not: they are passed on to it. */
const kubectlValues = [
  "as",
  "as-group",
  "as-uid",
  "cache-dir",
  "certificate-authority",
  "client-certificate",
  "client-key",
  "cluster",
  "context",
  "kubeconfig",
  "request-timeout",
  "server",
  "s",
  "tls-server-name",
  "token",
  "user",
] as const;
const kubectlSwitches = ["insecure-skip-tls-verify", "disable-compression"] as const;

const known = {
  n: "value",
  namespace: "value",
  A: "switch",
  "all-namespaces": "switch",
  w: "switch",
  watch: "switch",
  "all-steps": "switch",
  o: "value",
  output: "value",
  h: "switch",
  help: "switch",
  ...(Object.fromEntries(kubectlValues.map((name) => [name, "values"])) as Record<
    (typeof kubectlValues)[number],
    "values"
  >),
  ...(Object.fromEntries(kubectlSwitches.map((name) => [name, "switch"])) as Record<
    (typeof kubectlSwitches)[number],
    "switch"
  >),
} as const;

type Options = ReturnType<typeof parseOptions<typeof known>>;

const watchEveryMs = 2000;

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** The plugin: kubectl runs it as `kubectl-why`, and as `kubectl_complete-why` for completions. */
export async function main(program: string, args: readonly string[], out: Output): Promise<number> {
  if (basename(program).startsWith("kubectl_complete")) return complete(args, out);
  const options = parseOptions(args, known);
  if (options.help || options.h) {
    out.write(usage);
    return 0;
  }
  const format = options.o ?? options.output ?? "text";
  if (format !== "text" && format !== "json")
    throw new KubeletError(
      "Usage",
      `-o ${format}: only json is supported (the default is human-readable text)`,
    );
  const kubectl = new Kubectl(kubectlFlags(options));
  const namespace = (options.n ?? options.namespace) || (await kubectl.namespace());
  const look = await lookUp(kubectl, options, namespace);
  const show = async () => {
    const { json, lines, summary } = await look();
    return { text: format === "json" ? `${terminalJson(json, 2)}\n` : `${lines.join("\n")}\n`, summary };
  };
  if (!(options.w || options.watch)) {
    out.write((await show()).text);
    return 0;
  }
  return watch(show, out);
}

interface Answer {
  readonly json: object;
  readonly lines: readonly string[];
  /** Changes if something happens, not only because time passes. */
  readonly summary: string;
}

/** Returns the query that the arguments stand for. */
async function lookUp(kubectl: Kubectl, options: Options, namespace: string): Promise<() => Promise<Answer>> {
  const [first = "", second, ...more] = options.rest.flatMap((word) => word.split("/", 2));
  if (
    more.length > 0 ||
    (second !== undefined && !["pod", "pods", "po", "node", "nodes", "no"].includes(first))
  )
    throw new KubeletError("Usage", `specify one pod, or "node" and its name: ${options.rest.join(" ")}`);
  if (first.startsWith("no") && second !== undefined)
    return async () => {
      const found = await whyNode(kubectl, second);
      return { json: found, lines: nodeLines(found), summary: `${found.cause}${found.notes.join()}` };
    };
  const name = second ?? (first || undefined);
  const everywhere = options.A === true || options["all-namespaces"] === true;
  if (everywhere && name !== undefined)
    throw new KubeletError("Usage", `-A: a pod has one namespace: ${name}`);
  return async () => {
    const found = await whyPods(kubectl, { namespace: everywhere ? undefined : namespace, name });
    const lines = explanationLines(
      { at: found.at, node: "", pods: found.pods },
      { allSteps: options["all-steps"] === true, columns: process.stdout.columns },
    );
    const none = `all pods${everywhere ? "" : ` of namespace ${namespace}`} are ready`;
    const shown = found.pods.length === 0 ? [none] : lines;
    return {
      json: found,
      lines: [...shown, ...found.notes.map((note) => printable(`note: ${note}`))],
      summary: found.pods
        .map(({ uid, phase, ready, cause }) => `${uid} ${phase} ${ready} ${cause}`)
        .join("\n"),
    };
  };
}

/** A terminal shows the newest state; other output gets each change. */
async function watch(show: () => Promise<{ text: string; summary: string }>, out: Output): Promise<never> {
  let last: string | undefined;
  for (;;) {
    const { text, summary } = await show().catch((error: unknown) => ({
      text: `${printable(messageOf(error))}\n`,
      summary: messageOf(error),
    }));
    if (out.isTTY) out.write(`\x1b[H\x1b[2J${text}`);
    else if (summary !== last) out.write(text);
    last = summary;
    await new Promise((resolve) => setTimeout(resolve, watchEveryMs));
  }
}

async function complete(args: readonly string[], out: Output): Promise<number> {
  const flag = /^--?([\w-]+)$/.exec(args.at(-2) ?? "")?.[1] ?? "";
  const isValue = Object.hasOwn(known, flag) && known[flag as keyof typeof known] !== "switch";
  const options = parseOptions(args.slice(0, isValue ? -2 : -1), known, true);
  const kubectl = new Kubectl(kubectlFlags(options));
  const namespace = (options.n ?? options.namespace) || (await kubectl.namespace());
  const found = await completions(
    kubectl,
    namespace,
    [...options.rest, args.at(-1) ?? ""],
    isValue ? flag : undefined,
  ).catch(() => []);
  out.write(`${[...found, ":4"].join("\n")}\n`);
  return 0;
}

function kubectlFlags(options: Options): string[] {
  const dashes = (name: string) => (name.length === 1 ? `-${name}` : `--${name}`);
  return [
    ...kubectlValues.flatMap((name) => (options[name] ?? []).flatMap((value) => [dashes(name), value])),
    ...kubectlSwitches.flatMap((name) => (options[name] ? [dashes(name)] : [])),
  ];
}
