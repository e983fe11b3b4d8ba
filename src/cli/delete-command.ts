import { KubeletError } from "../lib/base/errors.ts";
import { findSocket, socketOptions, socketUsage } from "./agent-socket.ts";
import { localRequest } from "./local-request.ts";
import { parseOptions } from "./options.ts";
import { manifestName } from "./pod-documents.ts";
import { readPodFiles } from "./pod-files.ts";
import type { Terminal } from "./terminal.ts";

const deleteUsage = `kubelet delete NAME: takes away a pod that was given by \`kubelet apply\` or by HTTP

  NAME               as in the pod's manifest, without the node's name, or of what was put by HTTP; may be given several
                     times
  -n NAMESPACE       of the names (default: default)
  -f FILE            the pods of this file; a folder; - for what is piped in. May be given several times
  --ignore-not-found it is no error if there is no such pod
${socketUsage}
When it says "deleted", the pod is wanted no more and is being ended, whatever happens to the kubelet. Pods of other
origin are not touched: those of files go with their file. The exit status is 1 if a pod was not there.
`;

export async function deleteCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const { stdin, stdout, stderr } = terminal;
  const options = parseOptions(args, {
    f: "values",
    n: "value",
    "ignore-not-found": "switch",
    ...socketOptions,
    help: "switch",
  });
  if (options.help) {
    stdout.write(deleteUsage);
    return 0;
  }
  const namespace = options.n ?? "default";
  const named = options.rest.map((name) => ({ namespace, name }));
  if (named.length === 0 && !options.f)
    throw new KubeletError("Usage", "kubelet delete: which pods? Name them, or a file with -f");
  const filed = await readPodFiles(options.f ?? [], stdin);
  const socketPath = await findSocket(options);
  let status = 0;
  for (const pod of [...named, ...filed]) {
    const ref = `${pod.namespace}/${pod.name}`;
    const remove = (name: string) =>
      localRequest(socketPath, "DELETE", `/manifests/${encodeURIComponent(name)}`);
    let answer = await remove(manifestName(pod));
    if (answer.status === 404 && !("file" in pod) && !options.n) answer = await remove(pod.name);
    if (answer.status === 200) {
      stdout.write(`${ref}: deleted\n`);
      continue;
    }
    if (answer.status === 404 && options["ignore-not-found"]) continue;
    const why = answer.status === 404 ? "no such pod was applied here" : answer.bytes.toString().trim();
    stderr.write(`${ref}: ${why}\n`);
    status = 1;
  }
  return status;
}
