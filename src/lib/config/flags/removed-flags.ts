import type { FlagSpec } from "./spec.ts";

/** A flag that v1.36 no longer has, and that kubelets up to three minor versions older accepted with a warning. */
interface RemovedFlag extends FlagSpec {
  readonly deprecated: string;
  /** The line that the older kubelet logged in addition. */
  readonly log?: string;
}

function removed(name: string, type: FlagSpec["type"], text: string, log?: string): RemovedFlag {
  const help = "removed, accepted for upgrades from older versions";
  return { name, type, target: { in: "nowhere", default: "" }, help, deprecated: text, log };
}

/**
 * Accepted without effect: the kubeadm-flags.env of a node that kubeadm v1.34 or older set up contains the first one. They are not part of
 * the help text and of /flagz.
 */
export const removedFlags: ReadonlyMap<string, RemovedFlag> = new Map(
  [
    removed(
      "pod-infra-container-image",
      "string",
      "will be removed in 1.35. Image garbage collector will get sandbox image information from CRI.",
      "--pod-infra-container-image will not be pruned by the image garbage collector in kubelet and should also be set in the remote runtime",
    ),
    removed(
      "cloud-config",
      "string",
      "will be removed in 1.25 or later, in favor of removing cloud provider code from Kubelet.",
    ),
    removed("register-schedulable", "bool", "will be removed in a future version"),
  ].map((flag) => [flag.name, flag]),
);
