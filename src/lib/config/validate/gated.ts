import { formatDuration } from "../duration.ts";
import type { FeatureGates, FeatureName } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../kubelet-configuration.ts";
import type { Path, Problem } from "../problems.ts";

const second = 1000;

/** Fields that have an effect only while a feature gate is on. */
export function gatedProblems(config: KubeletConfiguration, gates: FeatureGates): Problem[] {
  const problems: Problem[] = [];
  const note = (path: Path, message: string) => problems.push({ path, message });
  const needs = (path: Path, gate: FeatureName, used: boolean) => {
    if (used && !gates.enabled(gate)) note(path, `needs the feature gate ${gate}`);
  };

  needs(["cpuCFSQuotaPeriod"], "CustomCPUCFSQuotaPeriod", config.cpuCFSQuotaPeriod !== 100);
  needs(["imageMaximumGCAge"], "ImageMaximumGCAge", config.imageMaximumGCAge !== 0);
  needs(["serverTLSBootstrap"], "RotateKubeletServerCertificate", config.serverTLSBootstrap);
  needs(["memorySwap", "swapBehavior"], "NodeSwap", config.memorySwap.swapBehavior !== "");
  needs(["memoryReservationPolicy"], "MemoryQoS", config.memoryReservationPolicy === "TieredReservation");
  needs(["enableSystemLogQuery"], "NodeLogQuery", config.enableSystemLogQuery);
  needs(["shutdownGracePeriod"], "GracefulNodeShutdown", config.shutdownGracePeriod > 0);
  needs(
    ["shutdownGracePeriodCriticalPods"],
    "GracefulNodeShutdown",
    config.shutdownGracePeriodCriticalPods > 0,
  );
  needs(
    ["shutdownGracePeriodByPodPriority"],
    "GracefulNodeShutdownBasedOnPodPriority",
    config.shutdownGracePeriodByPodPriority.length > 0,
  );
  for (const format of ["text", "json"] as const) {
    const { splitStream, infoBufferSize } = config.logging.options[format];
    const path = ["logging", "options", format];
    needs([...path, "splitStream"], "LoggingAlphaOptions", splitStream);
    needs([...path, "infoBufferSize"], "LoggingAlphaOptions", /[1-9]/.test(infoBufferSize));
  }
  shutdown();
  restartPeriod();
  imageVerification();
  return problems;

  function shutdown() {
    if (!gates.enabled("GracefulNodeShutdown")) return;
    const { shutdownGracePeriod: whole, shutdownGracePeriodCriticalPods: critical } = config;
    for (const name of ["shutdownGracePeriod", "shutdownGracePeriodCriticalPods"] as const) {
      const value = config[name];
      if (value < 0 || (value > 0 && value < second)) {
        note([name], `must be zero or at least 1s, not ${formatDuration(value)}`);
      }
    }
    if (critical > whole) {
      const sizes = `${formatDuration(critical)} is more than ${formatDuration(whole)}`;
      note(["shutdownGracePeriodCriticalPods"], `must not be longer than shutdownGracePeriod: ${sizes}`);
    }
    const byPriority = config.shutdownGracePeriodByPodPriority.length > 0;
    if (
      byPriority &&
      gates.enabled("GracefulNodeShutdownBasedOnPodPriority") &&
      (whole > 0 || critical > 0)
    ) {
      note(["shutdownGracePeriodByPodPriority"], "cannot be combined with shutdownGracePeriod");
    }
  }

  function restartPeriod() {
    const path = ["crashLoopBackOff", "maxContainerRestartPeriod"];
    const period = config.crashLoopBackOff.maxContainerRestartPeriod;
    needs(path, "KubeletCrashLoopBackOffMax", period !== undefined);
    if (!gates.enabled("KubeletCrashLoopBackOffMax")) return;
    if (period === undefined) note(path, "must be set");
    else if (Math.trunc(period) < second || Math.trunc(period) > 300 * second) {
      note(path, `must be between 1s and 5m0s, not ${formatDuration(period)}`);
    }
  }

  function imageVerification() {
    const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowed } =
      config;
    const gate = "KubeletEnsureSecretPulledImages";
    needs(["imagePullCredentialsVerificationPolicy"], gate, policy !== "");
    needs(["preloadedImagesVerificationAllowlist"], gate, allowed.length > 0);
    if (!gates.enabled(gate)) return;
    if (!verificationPolicies.includes(policy)) {
      const choices = verificationPolicies.map((choice) => JSON.stringify(choice)).join(", ");
      note(["imagePullCredentialsVerificationPolicy"], `${JSON.stringify(policy)} is not one of ${choices}`);
    }
    if (allowed.length > 0 && policy !== "NeverVerifyAllowlistedImages") {
      const requirement = 'imagePullCredentialsVerificationPolicy to be "NeverVerifyAllowlistedImages"';
      note(["preloadedImagesVerificationAllowlist"], `needs ${requirement}`);
    }
    allowed.forEach((pattern, index) => {
      if (isImagePattern(pattern)) return;
      const expected = 'an image without tag or digest, or a prefix that ends in "/*"';
      note(["preloadedImagesVerificationAllowlist", index], `${JSON.stringify(pattern)} is not ${expected}`);
    });
  }
}

const verificationPolicies: readonly string[] = [
  "NeverVerify",
  "NeverVerifyPreloadedImages",
  "NeverVerifyAllowlistedImages",
  "AlwaysVerify",
];

function isImagePattern(pattern: string): boolean {
  const prefix = pattern.endsWith("/*");
  const name = prefix ? pattern.slice(0, -2) : pattern;
  if (name === "" || /[\s*]/.test(name)) return false;
  return prefix || !(name.includes("@") || name.lastIndexOf(":") > name.lastIndexOf("/"));
}
