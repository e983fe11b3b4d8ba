import type { PodRuntimeOptions } from "../pipeline/pod-runtime/pod-runtime.ts";
import type { PodStartupLatency } from "../pipeline/status-manager/pod-startup-latency.ts";

type Images = PodRuntimeOptions["images"];

/** The same images, with the time that pods wait for pulls recorded. */
export function timedPulls(images: Images, times: PodStartupLatency): Images {
  return {
    prefetch: (pod, sandbox) => images.prefetch?.(pod, sandbox),
    cancelPrefetch: (uid) => images.cancelPrefetch?.(uid),
    forget: (uid) => images.forget(uid),
    async ensure(pod, container, sandbox, options) {
      let done: (() => void) | undefined;
      const onPull = (waitsFor: string) => {
        done ??= times.pulling(pod.metadata.uid);
        options.onPull(waitsFor);
      };
      try {
        return await images.ensure(pod, container, sandbox, { ...options, onPull });
      } finally {
        done?.();
      }
    },
  };
}
