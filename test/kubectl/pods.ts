import type { Kubectl } from "./kubectl.ts";

/** Preloaded on the node. */
export const demoImage = "localhost/kubelet-ts/demo:1";
/** Exits immediately on SIGTERM. */
export const longRunningCommand = ["sh", "-c", "trap 'echo stopping; exit 0' TERM; sleep 1000 & wait"];

// biome-ignore lint/suspicious/noExplicitAny: tests write and change manifests of all kinds.
export type Manifest = Record<string, any>;

/** A pod with one container that runs until it is stopped. */
export function pod(name: string, { labels = {}, spec = {}, container = {} }: Manifest = {}): Manifest {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: {
      terminationGracePeriodSeconds: 10,
      containers: [{ name: "c", image: demoImage, command: longRunningCommand, ...container }],
      ...spec,
    },
  };
}

/** A pod that prints something and exits. */
export function podThatPrints(name: string, script: string, more: Manifest = {}): Manifest {
  return pod(name, {
    ...more,
    spec: { restartPolicy: "Never" },
    container: { command: ["sh", "-c", script] },
  });
}

export function configMap(name: string, data: Record<string, string>, metadata: object = {}): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

export function list(...items: readonly Manifest[]): Manifest {
  return { apiVersion: "v1", kind: "List", items };
}

/** Creates pods, waits until they are ready, and returns their UIDs. */
export async function run(k: Kubectl, ...pods: readonly Manifest[]): Promise<string[]> {
  await k.ok(["create", "-f", "-"], { input: list(...pods) });
  const names = pods.map(({ metadata }) => `pod/${metadata.name}`);
  await k.ok(["wait", "--for=condition=Ready", "--timeout=60s", ...names]);
  return Promise.all(pods.map(({ metadata }) => uidOf(k, metadata.name)));
}

export function uidOf(k: Kubectl, name: string): Promise<string> {
  return k.ok(["get", "pod", name, "-o", "jsonpath={.metadata.uid}"]);
}
