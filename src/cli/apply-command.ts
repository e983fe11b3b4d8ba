import { KubeletError } from "../lib/base/errors.ts";
import { printableLines } from "../lib/base/terminal-text.ts";
import { manifestName, podDocuments } from "../lib/model/pod-documents.ts";
import { findSocket, socketOptions, socketUsage } from "./agent-socket.ts";
import { type LocalResponse, localRequest } from "./local-request.ts";
import { parseOptions } from "./options.ts";
import { atLine, type FilePod, readPodFiles } from "./pod-files.ts";
import type { Terminal } from "./terminal.ts";

const applyUsage = `kubelet apply -f pod.yaml: apply pods to the kubelet that runs on this machine

  -f FILE            pods as YAML or JSON, one or more per file; a directory of such files; - for standard input.
                     May be repeated
${socketUsage}
When it prints "created" or "replaced", the pod is stored on disk and survives restarts of the kubelet and the machine,
until \`kubelet delete\`. If a file cannot be read, nothing is applied; a rejected pod changes nothing. The exit status is
1 if a pod was rejected.

Examples:
  kubelet apply -f pod.yaml                                                    one file
  kubelet apply -f manifests/                                                  all files of a directory
  kubectl run web --image=nginx --dry-run=client -o yaml | kubelet apply -f -  standard input
`;

interface ApplyResult {
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
    throw new KubeletError(
      "Usage",
      `kubelet apply: unexpected argument: ${options.rest[0]}; specify files with -f`,
    );
  if (!options.f) throw new KubeletError("Usage", "kubelet apply: must specify -f FILE");
  const pods = await readPodFiles(options.f, stdin);
  const socketPath = await findSocket(options);
  let status = 0;
  for (const pod of pods) {
    const error = await apply(socketPath, pod, terminal);
    if (error === undefined) continue;
    stderr.write(`${printableLines(error)}\n`);
    status = 1;
  }
  return status;
}

/** Resolves with the error if the pod was rejected. */
async function apply(
  socketPath: string,
  pod: FilePod,
  { stdout, stderr }: Omit<Terminal, "stdin">,
): Promise<string | undefined> {
  const name = manifestName(pod);
  const path = `/manifests/${name}`;
  const ref = `${pod.namespace}/${pod.name}`;
  if (!isSamePod(await localRequest(socketPath, "GET", path), pod))
    return atLine(pod, {
      message: `manifest "${name}" already exists with a different pod than ${ref}: \`kubelet delete ${name}\` first`,
    });
  const response = await localRequest(socketPath, "PUT", path, pod.text);
  const { result, pods = [], warnings = [], problems, message = "" } = parseResult(response);
  if (response.status !== 200 && response.status !== 201) {
    const errors = (response.status === 422 ? problems : undefined) ?? [{ message }];
    return errors.map((problem) => atLine(pod, problem)).join("\n");
  }
  for (const warning of warnings) stderr.write(`${printableLines(atLine(pod, warning))}\n`);
  for (const applied of pods) stdout.write(`${applied.namespace}/${applied.name}: ${result}\n`);
  return undefined;
}

/** False if an existing manifest of this name has another pod: a client of the HTTP API chose the name. */
function isSamePod({ status, bytes }: LocalResponse, { namespace, name }: FilePod): boolean {
  if (status !== 200) return true;
  const existing = podDocuments(bytes.toString());
  return (
    !("documents" in existing) ||
    existing.documents.every((d) => d.namespace === namespace && d.name === name)
  );
}

function parseResult({ bytes, status }: LocalResponse): ApplyResult {
  const text = bytes.toString();
  try {
    return JSON.parse(text) as ApplyResult;
  } catch {
    return { message: text.trim() || `HTTP ${status}` };
  }
}
