import { buildContainerConfig } from "../../src/kubelet/pipeline/pod-runtime/config/container-config.ts";
import {
  fakeContainerContext,
  fakeSandboxContext,
  fakeSettings,
} from "../../src/kubelet/pipeline/pod-runtime/config/fake-context.ts";
import { buildSandboxConfig } from "../../src/kubelet/pipeline/pod-runtime/config/sandbox-config.ts";
import type { PodRuntimeOptions } from "../../src/kubelet/pipeline/pod-runtime/pod-runtime.ts";
import { containerHash } from "../../src/lib/model/container-hash.ts";

/** The requests of pods to the runtime, on a plain node. With an empty log directory, there are no logs. */
export function plainRequests(podLogsDir: string): PodRuntimeOptions["requests"] {
  const settings = { ...fakeSettings, podLogsDir };
  return {
    sandbox: async (pod, attempt) => {
      const config = buildSandboxConfig(pod, fakeSandboxContext({ attempt, settings }));
      return podLogsDir === "" ? { ...config, logDirectory: "" } : config;
    },
    container: async (pod, container, { attempt, image }) =>
      buildContainerConfig(pod, container, fakeContainerContext({ attempt, settings, imageRef: image.ref })),
    hashOf: containerHash,
    runtimeHandler: () => "",
  };
}
