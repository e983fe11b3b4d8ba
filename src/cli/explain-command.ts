import type { NodeExplanation } from "../kubelet/explain/explain-node.ts";
import { type Explanations, matchesPod } from "../kubelet/explain/pod-explanations.ts";
import { KubeletError } from "../lib/base/errors.ts";
import { terminalJson } from "../lib/base/terminal-text.ts";
import { findSocket, socketOptions, socketUsage } from "./agent-socket.ts";
import { explanationLines } from "./explanation-lines.ts";
import { localRequest } from "./local-request.ts";
import { nodeExplanationLines } from "./node-explanation-lines.ts";
import { parseOptions } from "./options.ts";

const explainUsage = `kubelet explain [POD | node]: show what a pod is waiting for, for how long, and its previous steps

  node               the node: why it is not ready or under pressure, which pod was evicted last and why, and what is
                     left of each resource (a pod of this name is NAMESPACE/node)
  POD                NAME, NAMESPACE/NAME or UID; the node name suffix of a static pod may be omitted
                     (default: all pods that are not ready, or failed in the last hour)
  --all              all pods, including ready ones
  --all-steps        each step on its own line, instead of equal ones as one
  -o json            print JSON (docs/EXPLAIN.md)
${socketUsage}

Examples:
  kubelet explain           all pods that are not ready
  kubelet explain shop/web  the pod web in the namespace shop
  kubelet explain node      the node
`;

export async function explainCommand(
  args: readonly string[],
  out: NodeJS.WritableStream & { readonly columns?: number },
): Promise<number> {
  const options = parseOptions(args, {
    o: "value",
    all: "switch",
    "all-steps": "switch",
    ...socketOptions,
    help: "switch",
  });
  if (options.help) {
    out.write(explainUsage);
    return 0;
  }
  const format = options.o ?? "text";
  if (format !== "json" && format !== "text")
    throw new KubeletError(
      "Usage",
      `-o ${format}: only json is supported (the default is human-readable text)`,
    );
  const [pod, ...more] = options.rest;
  if (more.length > 0)
    throw new KubeletError(
      "Usage",
      "specify at most one pod; without one, all pods that are not ready are explained",
    );
  const socketPath = await findSocket(options);
  if (pod === "node") return explainNode(socketPath, format, out);
  const query = pod === undefined ? (options.all ? "?all" : "") : `?pod=${encodeURIComponent(pod)}`;
  const { status, bytes } = await localRequest(socketPath, "GET", `/explain${query}`);
  // No kubelet has the pods that are not scheduled.
  const { unscheduledPods } = await import("./unscheduled-pods.ts");
  const unscheduled = (await unscheduledPods(socketPath)).filter(
    (found) => pod === undefined || matchesPod(pod, found, ""),
  );
  if (status === 404 && pod !== undefined && unscheduled.length === 0)
    throw new KubeletError(
      "NoPod",
      `there is no pod ${pod} on this kubelet (\`kubelet pods\` lists its pods)`,
    );
  if (status !== 200 && unscheduled.length === 0)
    throw new KubeletError("TooOld", "the running kubelet does not support explanations");
  const known =
    status === 200
      ? (JSON.parse(bytes.toString()) as Explanations)
      : { node: "", at: new Date().toISOString(), pods: [] };
  const all = { ...known, pods: [...known.pods, ...unscheduled] };
  if (format === "json") out.write(`${terminalJson(all, 2)}\n`);
  else {
    const { columns } = out;
    const shown = { allSteps: options["all-steps"] === true, ...(columns !== undefined && { columns }) };
    out.write(`${explanationLines(all, shown).join("\n")}\n`);
  }
  return 0;
}

async function explainNode(socketPath: string, format: string, out: NodeJS.WritableStream): Promise<number> {
  const { status, bytes } = await localRequest(socketPath, "GET", "/explain?node");
  const explanation = status === 200 ? (JSON.parse(bytes.toString()) as Partial<NodeExplanation>) : undefined;
  // An older kubelet explains its pods instead.
  if (!explanation?.thresholds)
    throw new KubeletError("TooOld", "the kubelet that runs here cannot explain its node");
  if (format === "json") out.write(`${terminalJson(explanation, 2)}\n`);
  else out.write(`${nodeExplanationLines(explanation as NodeExplanation).join("\n")}\n`);
  return 0;
}
