import { isIP } from "node:net";
import { posix } from "node:path";
import { labelValue, qualifiedName } from "../../base/name-rules.ts";
import { parseQuantity } from "../../model/quantity.ts";
import { formatDuration } from "../duration.ts";
import type { KubeletConfiguration } from "../kubelet-configuration.ts";
import { taintEffects } from "../names.ts";
import type { Path, Problem } from "../problems.ts";

const maxVerbosity = 2 ** 31 - 1;
const idsUnit = 65536;

/** Rules about single settings and about settings that depend on each other. */
export function settingProblems(config: KubeletConfiguration): Problem[] {
  const problems: Problem[] = [];
  const note = (path: Path, message: string) => problems.push({ path, message });

  if (config.syncFrequency <= 0)
    note(["syncFrequency"], `must be more than zero, not ${formatDuration(config.syncFrequency)}`);
  if (config.systemCgroups !== "" && config.cgroupRoot === "") note(["systemCgroups"], "needs cgroupRoot");
  if (config.imageGCLowThresholdPercent >= config.imageGCHighThresholdPercent) {
    const high = `imageGCHighThresholdPercent (${config.imageGCHighThresholdPercent})`;
    note(
      ["imageGCLowThresholdPercent"],
      `must be less than ${high}, not ${config.imageGCLowThresholdPercent}`,
    );
  }
  if (config.imageMaximumGCAge > 0 && config.imageMaximumGCAge <= config.imageMinimumGCAge) {
    const shortest = `imageMinimumGCAge (${formatDuration(config.imageMinimumGCAge)})`;
    note(
      ["imageMaximumGCAge"],
      `must be longer than ${shortest}, not ${formatDuration(config.imageMaximumGCAge)}`,
    );
  }
  if (config.serializeImagePulls && (config.maxParallelImagePulls ?? 1) > 1) {
    note(["maxParallelImagePulls"], "cannot be more than 1 unless serializeImagePulls is false");
  }
  if (config.runOnce) note(["runOnce"], "is no longer possible here; `kubelet run -f <file>` runs pods once");
  if (config.memoryThrottlingFactor <= 0 || config.memoryThrottlingFactor > 1) {
    note(
      ["memoryThrottlingFactor"],
      `must be more than 0 and at most 1, not ${config.memoryThrottlingFactor}`,
    );
  }
  if (config.enableSystemLogQuery && !config.enableSystemLogHandler) {
    note(["enableSystemLogQuery"], "needs enableSystemLogHandler");
  }
  if (isIP(config.address) === 0) note(["address"], `${JSON.stringify(config.address)} is not an IP address`);
  const logSize = parseQuantity(config.containerLogMaxSize);
  if (logSize === undefined) {
    note(["containerLogMaxSize"], `${JSON.stringify(config.containerLogMaxSize)} is not a quantity`);
  }
  if (!["", "1.35"].includes(config.showHiddenMetricsForVersion)) {
    const shown = JSON.stringify(config.showHiddenMetricsForVersion);
    note(
      ["showHiddenMetricsForVersion"],
      `must be empty or "1.35", the minor version before this one, not ${shown}`,
    );
  }
  podLogsDir();
  taints();
  logging();
  tracing();
  userNamespaces();
  return problems;

  function podLogsDir() {
    const dir = config.podLogsDir;
    const clean = posix.normalize(dir).replace(/(.)\/$/, "$1");
    const shown = JSON.stringify(dir);
    if (!dir.startsWith("/")) note(["podLogsDir"], `${shown} is not an absolute path`);
    if (clean !== dir) note(["podLogsDir"], `must be written in its shortest form, "${clean}", not ${shown}`);
    if (/\P{ASCII}/u.test(dir)) note(["podLogsDir"], `${shown} has characters outside ASCII`);
  }

  function taints() {
    config.registerWithTaints.forEach((taint, index) => {
      const path = ["registerWithTaints", index];
      for (const message of qualifiedName(taint.key))
        note([...path, "key"], `${JSON.stringify(taint.key)}: ${message}`);
      for (const message of labelValue(taint.value))
        note([...path, "value"], `${JSON.stringify(taint.value)}: ${message}`);
      if (taint.effect !== "" && !taintEffects.includes(taint.effect)) {
        note([...path, "effect"], `${JSON.stringify(taint.effect)} is not one of ${taintEffects.join(", ")}`);
      }
      if (taint.timeAdded !== undefined) note([...path, "timeAdded"], "must not be set");
    });
  }

  function logging() {
    const { flushFrequency, verbosity, vmodule, format } = config.logging;
    if (flushFrequency <= 0) {
      note(["logging", "flushFrequency"], `must be more than zero, not ${formatDuration(flushFrequency)}`);
    }
    if (verbosity > maxVerbosity)
      note(["logging", "verbosity"], `must be at most ${maxVerbosity}, not ${verbosity}`);
    if (vmodule.length > 0 && format !== "text")
      note(["logging", "vmodule"], "works with the text format only");
    vmodule.forEach((item, index) => {
      const path = ["logging", "vmodule", index];
      if (item.filePattern === "") note([...path, "filePattern"], "must not be empty");
      if (/[=,]/.test(item.filePattern)) {
        note([...path, "filePattern"], `${JSON.stringify(item.filePattern)} must not contain "=" or ","`);
      }
      if (item.verbosity > maxVerbosity) {
        note([...path, "verbosity"], `must be at most ${maxVerbosity}, not ${item.verbosity}`);
      }
    });
  }

  function tracing() {
    const { endpoint, samplingRatePerMillion: rate } = config.tracing ?? {};
    if (rate !== undefined && (rate < 0 || rate > 1_000_000)) {
      note(["tracing", "samplingRatePerMillion"], `must be between 0 and 1000000, not ${rate}`);
    }
    if (endpoint?.includes("//") && !/^(?:dns|unix|unix-abstract):/.test(endpoint)) {
      note(
        ["tracing", "endpoint"],
        `${JSON.stringify(endpoint)} has a scheme other than dns, unix, unix-abstract`,
      );
    }
  }

  function userNamespaces() {
    const ids = config.userNamespaces?.idsPerPod;
    if (ids === undefined || (ids >= idsUnit && ids % idsUnit === 0 && ids <= 2 ** 32 - 1)) return;
    note(["userNamespaces", "idsPerPod"], `must be a multiple of ${idsUnit} below ${2 ** 32}, not ${ids}`);
  }
}
