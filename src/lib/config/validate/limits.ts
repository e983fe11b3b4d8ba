import { formatDuration } from "../duration.ts";
import type { KubeletConfiguration } from "../kubelet-configuration.ts";
import type { Problem } from "../problems.ts";

type NumberField = {
  [N in keyof KubeletConfiguration]-?: KubeletConfiguration[N] extends number | undefined ? N : never;
}[keyof KubeletConfiguration];

const most = Number.MAX_SAFE_INTEGER;

const ranges: readonly (readonly [NumberField, number, number])[] = [
  ["nodeLeaseDurationSeconds", 1, most],
  ["eventBurst", 0, most],
  ["eventRecordQPS", 0, most],
  ["healthzPort", 0, 65535],
  ["imageGCHighThresholdPercent", 0, 100],
  ["imageGCLowThresholdPercent", 0, 100],
  ["iptablesDropBit", 0, 31],
  ["iptablesMasqueradeBit", 0, 31],
  ["kubeAPIBurst", 0, most],
  ["kubeAPIQPS", 0, most],
  ["nodeStatusMaxImages", -1, most],
  ["maxOpenFiles", 0, most],
  ["maxPods", 0, most],
  ["oomScoreAdj", -1000, 1000],
  ["podsPerCore", 0, most],
  ["port", 1, 65535],
  ["readOnlyPort", 0, 65535],
  ["registryBurst", 0, most],
  ["registryPullQPS", 0, most],
  ["maxParallelImagePulls", 1, most],
  ["containerLogMaxWorkers", 1, most],
  ["containerLogMaxFiles", 2, most],
];

const durations: readonly (readonly [NumberField, number, number])[] = [
  ["cpuCFSQuotaPeriod", 1, 1000],
  ["imageMinimumGCAge", 0, most],
  ["imageMaximumGCAge", 0, most],
  ["containerLogMonitorInterval", 3000, most],
];

/** Numbers and durations with a minimum or maximum. */
export function limitProblems(config: KubeletConfiguration): Problem[] {
  return [...check(config, ranges, String), ...check(config, durations, formatDuration)];
}

function check(
  config: KubeletConfiguration,
  table: typeof ranges,
  show: (value: number) => string,
): Problem[] {
  const problems: Problem[] = [];
  for (const [name, low, high] of table) {
    const value = config[name];
    if (value === undefined || (value >= low && value <= high)) continue;
    const limit =
      high === most ? `must be ${show(low)} or more` : `must be between ${show(low)} and ${show(high)}`;
    problems.push({ path: [name], message: `${limit}, not ${show(value)}` });
  }
  return problems;
}
