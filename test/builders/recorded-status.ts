import { readFileSync } from "node:fs";
import type { Pod, PodStatus } from "../../src/lib/model/pod.ts";

/** A pod as kubelet v1.36 received it, and the status that it reported. */
export function recorded(name: string): { pod: Pod; status: PodStatus } {
  const file = new URL(`../fixtures/recorded/pod-${name}.json`, import.meta.url);
  const { status, ...pod } = JSON.parse(readFileSync(file, "utf8")) as Pod & { status: PodStatus };
  return { pod, status };
}

const times = new Set(["startedAt", "finishedAt", "startTime", "lastTransitionTime"]);
const addresses = new Set(["ip", "hostIP", "podIP"]);

/** Everything but the values of IDs, times and addresses; whether these are present, or null, is compared. */
export function comparable(status: PodStatus): unknown {
  return JSON.parse(
    JSON.stringify(status, (key, value: unknown) => {
      if (typeof value !== "string") return value;
      if (times.has(key)) return "time";
      if (addresses.has(key)) return "address";
      return key === "containerID" ? value.replace(/:\/\/.+/, "://id") : value;
    }),
  );
}
