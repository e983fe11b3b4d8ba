import { isolatedReport } from "../node/isolated-report.ts";
import type { KubeletsReport } from "./isolated-kubelets.ts";
import type { Takeover } from "./isolated-takeover.ts";
import type { Kind } from "./kubelet-kinds.ts";

export { unavailable } from "../node/isolated-report.ts";

export const reference = process.env.KUBELET_REFERENCE;

/** Runs the kubelets one at a time on an isolated host; returns the state of the node after each. */
export const runKubelets = (...order: Kind[]): Promise<KubeletsReport> =>
  isolatedReport(new URL("isolated-kubelets.ts", import.meta.url), order);

/** Restores the node that the reference kubelet left, on an isolated host, and starts kubelet-ts on it. */
export const takeOver = (manifests: "plain" | "odd" = "plain"): Promise<Takeover> =>
  isolatedReport(new URL("isolated-takeover.ts", import.meta.url), [manifests]);
