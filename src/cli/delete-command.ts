import { KubeletError } from "../lib/base/errors.ts";
import { printable } from "../lib/base/terminal-text.ts";
import { manifestName } from "../lib/model/pod-documents.ts";
import { findSocket, socketOptions, socketUsage } from "./agent-socket.ts";
import { localRequest } from "./local-request.ts";
import { parseOptions } from "./options.ts";
import { readPodFiles } from "./pod-files.ts";
import type { Terminal } from "./terminal.ts";

const deleteUsage = `kubelet delete NAME: delete a pod that was applied by \`kubelet apply\` or over HTTP

  NAME               the name in the pod's manifest, without the node name, or of a manifest put over HTTP; may be
                     repeated
  -n NAMESPACE       namespace of the pods (default: default)
  -f FILE            the pods of this file; a directory; - for standard input. May be repeated
  --ignore-not-found succeed if there is no such pod
${socketUsage}
When it prints "deleted", the deletion is stored and the pod is terminated, even if the kubelet restarts. Pods of other
sources are not touched: to remove the pods of a manifest file, remove the file. The exit status is 1 if a pod was not found.

Examples:
  kubelet delete web          the pod web in the namespace default
  kubelet delete -f pod.yaml  the pods of a file
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
    throw new KubeletError("Usage", "kubelet delete: pod name or -f FILE required");
  const filed = await readPodFiles(options.f ?? [], stdin);
  const socketPath = await findSocket(options);
  let status = 0;
  for (const pod of [...named, ...filed]) {
    const ref = `${pod.namespace}/${pod.name}`;
    const remove = (name: string) =>
      localRequest(socketPath, "DELETE", `/manifests/${encodeURIComponent(name)}`);
    let response = await remove(manifestName(pod));
    if (response.status === 404 && !("file" in pod) && !options.n) response = await remove(pod.name);
    if (response.status === 200) {
      stdout.write(`${ref}: deleted\n`);
      continue;
    }
    if (response.status === 404 && options["ignore-not-found"]) continue;
    const why = response.status === 404 ? "no such pod was applied here" : response.bytes.toString().trim();
    stderr.write(`${printable(`${ref}: ${why}`)}\n`);
    status = 1;
  }
  return status;
}
