import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { isolationUnavailable, startIsolated } from "../node/isolated-host.ts";
import { containerdVersions } from "../node/test-node.ts";
import type { SwapReport } from "./isolated-swap.ts";
import type { Kind } from "./kubelet-kinds.ts";

export const reference = process.env.KUBELET_REFERENCE;

const containerd = containerdVersions().find(({ name }) => name === "2.x")!.available;
/** The reason why these tests cannot run here. */
export const unavailable: string | false = isolationUnavailable || (containerd === true ? false : containerd);

/** Runs the kubelets one after the other on an isolated host; returns the state of the node after each. */
export async function swap(...order: Kind[]): Promise<SwapReport> {
  const script = fileURLToPath(new URL("./isolated-swap.ts", import.meta.url));
  const host = startIsolated([process.execPath, script, ...order]);
  const [out, err] = await Promise.all([text(host.child.stdout!), text(host.child.stderr!), host.exited]);
  if (!out.startsWith("{")) throw new Error(`no report: ${err}`);
  return JSON.parse(out) as SwapReport;
}
