import type { Pod } from "../../lib/model/pod.ts";
import { type PullProgress, pullText } from "../../lib/model/pull-progress.ts";
import type { PodSyncStatus } from "../state/pod-sync-status.ts";

type Waiting = Pick<PodSyncStatus, "pod" | "blockedOn" | "history">;

/** The wait of a pod in one line, for an image with its progress. Undefined if the pod waits for nothing. */
export function waitText(worker: Waiting, pulls: readonly PullProgress[]): string | undefined {
  if (!worker.blockedOn) return undefined;
  const pull = awaitedPull(worker, pulls);
  return pull ? pullText(pull) : worker.blockedOn.text;
}

/** The pull that the pod waits for now. Pulls of images that the pod needs later may also be running. */
export function awaitedPull(
  { pod, blockedOn, history: { current } }: Waiting,
  pulls: readonly PullProgress[],
): PullProgress | undefined {
  if (!blockedOn || !pod || pulls.length === 0) return undefined;
  const images = imagesOf(pod, current);
  // A name without tag and digest has the tag "latest" in the runtime.
  return pulls.find(({ image }) => images.some((name) => image === name || image === `${name}:latest`));
}

function imagesOf(
  { spec }: Pod,
  step: { readonly kind: string; readonly container?: string } | undefined,
): string[] {
  const { containers, initContainers = [], ephemeralContainers = [], volumes = [] } = spec;
  switch (step?.kind) {
    case "image":
      return [...initContainers, ...containers, ...ephemeralContainers].flatMap(({ name, image }) =>
        name === step.container && image ? [image] : [],
      );
    case "volumes":
      return volumes.flatMap(({ image }) => image?.reference ?? []);
    default:
      return [];
  }
}
