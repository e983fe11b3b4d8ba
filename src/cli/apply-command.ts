import { KubeletError } from "../lib/base/errors.ts";
import { findSocket, socketOptions, socketUsage } from "./agent-socket.ts";
import { type LocalAnswer, localRequest } from "./local-request.ts";
import { parseOptions } from "./options.ts";
import { manifestName, podDocuments } from "./pod-documents.ts";
import { atLine, type FiledPod, readPodFiles } from "./pod-files.ts";
import type { Terminal } from "./terminal.ts";

const applyUsage = `kubelet apply -f pod.yaml: apply pods to the kubelet that runs on this machine

  -f FILE            pods as YAML or JSON, one or more per file; a directory of such files; - for standard input.
                     May be repeated
${socketUsage}
When it prints "created" or "replaced", the pod is stored on disk and survives restarts of the kubelet and the machine,
until \`kubelet delete\`. If a file cannot be read, nothing is applied; a rejected pod changes nothing. The exit status is
1 if a pod was rejected.
`;

interface PutReply {
  readonly result?: string;
  readonly pods?: readonly { namespace: string; name: string }[];
  readonly warnings?: readonly Problem[];
  readonly problems?: readonly Problem[];
  readonly message?: string;
}

interface Problem {
  readonly line?: number;
  readonly field?: string;
  readonly message: string;
}

export async function applyCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const { stdin, stdout, stderr } = terminal;
  const options = parseOptions(args, { f: "values", ...socketOptions, help: "switch" });
  if (options.help) {
    stdout.write(applyUsage);
    return 0;
  }
  if (options.rest.length > 0)
    throw new KubeletError("Usage", `kubelet apply: what is ${options.rest[0]}? Files are named with -f`);
  if (!options.f) throw new KubeletError("Usage", "kubelet apply: which pods? Name a file with -f");
  const pods = await readPodFiles(options.f, stdin);
  const socketPath = await findSocket(options);
  let status = 0;
  for (const pod of pods) {
    const refusal = await apply(socketPath, pod, terminal);
    if (refusal === undefined) continue;
    stderr.write(`${refusal}\n`);
    status = 1;
  }
  return status;
}

/** What is wrong, if it was refused. */
async function apply(
  socketPath: string,
  pod: FiledPod,
  { stdout, stderr }: Omit<Terminal, "stdin">,
): Promise<string | undefined> {
  const name = manifestName(pod);
  const path = `/manifests/${name}`;
  const ref = `${pod.namespace}/${pod.name}`;
  if (!holds(await localRequest(socketPath, "GET", path), pod))
    return atLine(pod, {
      message: `manifest "${name}" is there and holds another pod than ${ref}: \`kubelet delete ${name}\` first`,
    });
  const answer = await localRequest(socketPath, "PUT", path, pod.text);
  const reply = replyOf(answer);
  if (answer.status !== 200 && answer.status !== 201) {
    const problems = answer.status === 422 ? reply.problems : undefined;
    return (problems ?? [{ message: reply.message ?? "" }]).map((problem) => atLine(pod, problem)).join("\n");
  }
  for (const warning of reply.warnings ?? []) stderr.write(`${atLine(pod, warning)}\n`);
  for (const made of reply.pods ?? []) stdout.write(`${made.namespace}/${made.name}: ${reply.result}\n`);
  return undefined;
}

/** False if the manifest has a different name: a client of the HTTP API chose it. */
function holds({ status, bytes }: LocalAnswer, { namespace, name }: FiledPod): boolean {
  if (status !== 200) return true;
  const there = podDocuments(bytes.toString());
  return (
    !("documents" in there) || there.documents.every((d) => d.namespace === namespace && d.name === name)
  );
}

function replyOf({ bytes, status }: LocalAnswer): PutReply {
  const text = bytes.toString();
  try {
    return JSON.parse(text) as PutReply;
  } catch {
    return { message: text.trim() || `HTTP ${status}` };
  }
}
