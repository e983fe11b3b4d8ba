import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { isolationUnavailable, startIsolated } from "../node/isolated-host.ts";
import { containerdVersions } from "../node/test-node.ts";
import type { KubeletsReport } from "./isolated-kubelets.ts";
import type { Takeover } from "./isolated-takeover.ts";
import type { Kind } from "./kubelet-kinds.ts";

export const reference = process.env.KUBELET_REFERENCE;

const containerd = containerdVersions().find(({ name }) => name === "2.x")!.available;
/** The reason why these tests cannot run here. */
export const unavailable: string | false = isolationUnavailable || (containerd === true ? false : containerd);

/** Runs the kubelets one at a time on an isolated host; returns the state of the node after each. */
export const runKubelets = (...order: Kind[]): Promise<KubeletsReport> =>
  runIsolated("isolated-kubelets.ts", order);

/** Restores the node that the reference kubelet left, on an isolated host, and starts kubelet-ts on it. */
export const takeOver = (): Promise<Takeover> => runIsolated("isolated-takeover.ts", []);

async function runIsolated<T>(script: string, args: readonly string[]): Promise<T> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const host = startIsolated([process.execPath, path, ...args]);
  const [out, err] = await Promise.all([text(host.child.stdout!), text(host.child.stderr!), host.exited]);
  if (!out.startsWith("{")) throw new Error(`no report: ${err}`);
  return JSON.parse(out) as T;
}
