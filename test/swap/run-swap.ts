import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { boxUnavailable, startBox } from "../node/box.ts";
import { containerdVersions } from "../node/test-node.ts";
import type { Kind } from "./kubelet-kinds.ts";
import type { SwapReport } from "./swap-in-box.ts";

export const reference = process.env.KUBELET_REFERENCE;

const containerd = containerdVersions().find(({ name }) => name === "2.x")!.available;
/** Why nothing of this can run here. */
export const unavailable: string | false = boxUnavailable || (containerd === true ? false : containerd);

/** The kubelets one after the other on one node, in a box; what there was after each. */
export async function swap(...order: Kind[]): Promise<SwapReport> {
  const script = fileURLToPath(new URL("./swap-in-box.ts", import.meta.url));
  const box = startBox([process.execPath, script, ...order]);
  const [out, err] = await Promise.all([text(box.child.stdout!), text(box.child.stderr!), box.ended]);
  if (!out.startsWith("{")) throw new Error(`no report: ${err}`);
  return JSON.parse(out) as SwapReport;
}
