import type { PodSpec } from "../../../src/lib/model/pod.ts";
import { sleeper } from "../../e2e/manifests.ts";
import { busyboxName } from "../../node/test-node.ts";

export const kinds = ["plain", "config", "scratch", "probed", "restarting", "sidecar", "completing"] as const;
export type Kind = (typeof kinds)[number];

export const settings = "settings";

/** The containers that run once a pod of this kind has settled. */
export function runningOf(kind: Kind): string[] {
  if (kind === "completing") return [];
  return kind === "sidecar" ? ["c", "side"] : ["c"];
}

/** Fails twice, even across restarts of its pod's sandbox, and then keeps running. */
const failsTwice = `n=$(cat /state/n 2>/dev/null); n=\${n:-0}; echo $((n+1)) >/state/n; [ $n -ge 2 ] || exit 1; ${sleeper[2]}`;
const probe = (periodSeconds: number) => ({ exec: { command: ["true"] }, periodSeconds, timeoutSeconds: 20 });

export function specOf(kind: Kind, hostDir: string): PodSpec {
  const base = { name: "c", image: busyboxName, imagePullPolicy: "Never", command: sleeper };
  return {
    terminationGracePeriodSeconds: 1,
    dnsPolicy: "Default",
    ...(kind === "completing" && { restartPolicy: "Never" }),
    ...partsOf(kind, base, hostDir),
  } as PodSpec;
}

function partsOf(kind: Kind, base: object, hostDir: string): object {
  const mount = (name: string, mountPath: string) => ({ name, mountPath });
  switch (kind) {
    case "plain":
      return { containers: [base] };
    case "config":
      return {
        containers: [{ ...base, volumeMounts: [mount("settings", "/settings")] }],
        volumes: [{ name: "settings", configMap: { name: settings } }],
      };
    case "scratch":
      return {
        containers: [
          {
            ...base,
            volumeMounts: [mount("disk", "/disk"), mount("memory", "/memory"), mount("host", "/host")],
          },
        ],
        volumes: [
          { name: "disk", emptyDir: {} },
          { name: "memory", emptyDir: { medium: "Memory" } },
          { name: "host", hostPath: { path: hostDir, type: "Directory" } },
        ],
      };
    case "probed":
      return {
        containers: [{ ...base, startupProbe: probe(1), readinessProbe: probe(1), livenessProbe: probe(2) }],
      };
    case "restarting":
      return {
        containers: [
          { ...base, command: ["sh", "-c", failsTwice], volumeMounts: [mount("state", "/state")] },
        ],
        volumes: [{ name: "state", emptyDir: {} }],
      };
    case "sidecar":
      return {
        initContainers: [
          { ...base, name: "first", command: ["true"] },
          { ...base, name: "side", restartPolicy: "Always" },
        ],
        containers: [base],
      };
    case "completing":
      return { containers: [{ ...base, command: ["sh", "-c", "sleep 0.3"] }] };
    default:
      return kind satisfies never;
  }
}
