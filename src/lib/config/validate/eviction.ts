import { parseQuantity } from "../../model/quantity.ts";
import { parseDuration } from "../duration.ts";
import type { KubeletConfiguration } from "../kubelet-configuration.ts";
import type { Problem } from "../problems.ts";

const evictionSignals: readonly string[] = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "containerfs.available",
  "containerfs.inodesFree",
  "allocatableMemory.available",
  "pid.available",
];

type Check = (value: string) => string | undefined;

export function evictionProblems(config: KubeletConfiguration): Problem[] {
  const problems = [
    ...signals("evictionHard", config.evictionHard, threshold),
    ...signals("evictionSoft", config.evictionSoft, threshold),
    ...signals("evictionSoftGracePeriod", config.evictionSoftGracePeriod, gracePeriod),
    ...signals("evictionMinimumReclaim", config.evictionMinimumReclaim, reclaim),
  ];
  for (const [signal, value] of Object.entries(config.evictionSoft)) {
    // A threshold of 0% or 100% is switched off and needs no grace period.
    if (value === "0%" || value === "100%" || Object.hasOwn(config.evictionSoftGracePeriod, signal)) continue;
    problems.push({
      path: ["evictionSoft", signal],
      message: "has no grace period in evictionSoftGracePeriod",
    });
  }
  return problems;
}

function signals(field: string, settings: Record<string, string>, check: Check): Problem[] {
  const problems: Problem[] = [];
  for (const [signal, value] of Object.entries(settings)) {
    const message = evictionSignals.includes(signal) ? check(value) : "is not an eviction signal";
    if (message) problems.push({ path: [field, signal], message });
  }
  return problems;
}

const threshold: Check = (value) => {
  if (value.endsWith("%")) {
    const percent = percentage(value);
    if (percent === undefined) return `${JSON.stringify(value)} is not a percentage`;
    return percent < 0 || percent > 100 ? `${JSON.stringify(value)} is not between 0% and 100%` : undefined;
  }
  const quantity = parseQuantity(value);
  if (quantity === undefined) return `${JSON.stringify(value)} is not a quantity`;
  return quantity <= 0n ? `must be more than zero, not ${JSON.stringify(value)}` : undefined;
};

const reclaim: Check = (value) => {
  if (value.endsWith("%")) {
    const percent = percentage(value);
    if (percent === undefined) return `${JSON.stringify(value)} is not a percentage`;
    return percent <= 0 ? `must be more than zero, not ${JSON.stringify(value)}` : undefined;
  }
  const quantity = parseQuantity(value);
  if (quantity === undefined) return `${JSON.stringify(value)} is not a quantity`;
  return quantity < 0n ? `must not be negative, not ${JSON.stringify(value)}` : undefined;
};

const gracePeriod: Check = (value) => {
  const duration = parseDuration(value);
  if (duration === undefined) return `${JSON.stringify(value)} is not a duration`;
  return duration < 0 ? `must not be negative, not ${JSON.stringify(value)}` : undefined;
};

function percentage(value: string): number | undefined {
  const number = value.replace(/%+$/, "");
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(number) ? Number(number) : undefined;
}
