import { isAbort, messageOf } from "../../base/errors.ts";
import type { RuntimeService } from "../../clients/cri/cri.ts";
import { readContainerNotes } from "../../model/labels.ts";
import type { Pod } from "../../model/pod.ts";
import { type ObservedContainer, type ObservedPod, runningContainers } from "../../state/observed-pods.ts";
import { isSidecar } from "./plan.ts";

type Stopper = Pick<RuntimeService, "stopContainer" | "stopPodSandbox">;

/** No container gets less than this to end by itself. */
const shortestGraceSeconds = 2;

/** How long a container may take to end: as asked for, as its pod says, or as it was created. */
export function graceSecondsOf(
  pod: Pod | undefined,
  container: ObservedContainer,
  override?: number,
): number {
  return Math.max(shortestGraceSeconds, override ?? (pod ? graceOfPod(pod) : recordedGrace(container)));
}

function graceOfPod({ metadata, spec }: Pod): number {
  return metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
}

function recordedGrace(container: ObservedContainer): number {
  return readContainerNotes(container.annotations).terminationGracePeriodSeconds ?? shortestGraceSeconds;
}

/**
 * The order to stop containers in: first all that are not sidecars, at once; then the sidecars, one after the other,
 * last started first.
 */
export function stopOrder(pod: Pod | undefined, running: ObservedContainer[]): ObservedContainer[][] {
  const sidecars = (pod?.spec.initContainers ?? []).filter(isSidecar).map((c) => c.name);
  const stages = [running.filter((c) => !sidecars.includes(c.name))];
  for (const name of sidecars.reverse()) stages.push(running.filter((c) => c.name === name));
  return stages.filter((stage) => stage.length > 0);
}

/** Stops everything of a pod. All is tried, whatever fails; then the first failure is thrown. */
export async function killPod(
  runtime: Stopper,
  seen: ObservedPod,
  pod: Pod | undefined,
  options: { graceSeconds?: number; signal: AbortSignal; onStop?: (container: ObservedContainer) => void },
): Promise<void> {
  const failures: unknown[] = [];
  const attempt = async (call: Promise<void>) => {
    try {
      await call;
    } catch (error) {
      failures.push(error);
    }
  };
  for (const stage of stopOrder(pod, runningContainers(seen))) {
    await Promise.all(
      stage.map((container) => {
        options.onStop?.(container);
        const grace = graceSecondsOf(pod, container, options.graceSeconds);
        return attempt(runtime.stopContainer(container.id, grace, { signal: options.signal }));
      }),
    );
  }
  await Promise.all(
    seen.sandboxes.map((sandbox) => attempt(runtime.stopPodSandbox(sandbox.id, { signal: options.signal }))),
  );
  const failure = failures.find((f) => !isAbort(f)) ?? failures[0];
  if (failure) throw new Error(`stopping the pod: ${messageOf(failure)}`, { cause: failure });
}
