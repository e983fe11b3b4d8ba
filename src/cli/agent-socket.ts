import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { KubeletError } from "../lib/base/errors.ts";
import { defaultBaseDir } from "../single-node/node-files.ts";

/** For the help of commands that query a running agent. */
export const socketUsage = `  --node NAME        the kubelet of the node started by \`kubelet up --name NAME\`
  --root-dir DIR     the kubelet with this root directory
`;

/** The options that select the agent. */
export const socketOptions = { node: "value", "root-dir": "value" } as const;

/** The socket of the selected kubelet, or of the only one that runs. */
export async function findSocket(o: { node?: string; "root-dir"?: string }): Promise<string> {
  if (o["root-dir"]) return join(o["root-dir"], "kubelet.sock");
  if (o.node) return join(defaultBaseDir, o.node, "kubelet", "kubelet.sock");
  const nodes = await readdir(defaultBaseDir).catch(() => []);
  const candidates = [
    "/var/lib/kubelet/kubelet.sock",
    ...nodes.map((name) => join(defaultBaseDir, name, "kubelet", "kubelet.sock")),
  ];
  const found: string[] = [];
  // A kubelet that was killed leaves its socket behind.
  for (const path of candidates) if (await listens(path)) found.push(path);
  if (found.length === 0)
    throw new KubeletError(
      "NotRunning",
      "no kubelet is running on this machine: start one with `kubelet up`",
    );
  if (found.length > 1)
    throw new KubeletError(
      "Usage",
      `several kubelets are running on this machine; select one with --root-dir:\n${found.map((f) => `  ${f.replace(/\/kubelet\.sock$/, "")}`).join("\n")}`,
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
