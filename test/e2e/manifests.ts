import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { busyboxName } from "../node/test-node.ts";

export interface ManifestOptions {
  name: string;
  /** Changes the content, and therefore the UID. */
  note?: string;
  command?: string[];
  hostNetwork?: boolean;
  restartPolicy?: string;
  graceSeconds?: number;
}

/** A sleep that exits on SIGTERM, which a plain `sleep` as PID 1 ignores. */
export const sleeper = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1000 & wait; done"];

export function manifest(o: ManifestOptions): string {
  return `apiVersion: v1
kind: Pod
metadata:
  name: ${o.name}
  labels: { test: "${o.note ?? "0"}" }
spec:
  hostNetwork: ${o.hostNetwork ?? false}
  restartPolicy: ${o.restartPolicy ?? "Always"}
  terminationGracePeriodSeconds: ${o.graceSeconds ?? 1}
  dnsPolicy: Default
  containers:
    - name: c
      image: ${busyboxName}
      imagePullPolicy: Never
      command: ${JSON.stringify(o.command ?? sleeper)}
`;
}

/** Writes a manifest into the directory atomically. */
export function writeManifest(dir: string, file: string, content: string | Uint8Array): void {
  const hidden = join(dir, `.${file}.tmp`);
  writeFileSync(hidden, content);
  renameSync(hidden, join(dir, file));
}

/** A manifest with any spec; containers without an image get busybox, and imagePullPolicy Never. */
export function podManifest(name: string, spec: PodSpecInit): string {
  const complete = (c: ContainerInit) => ({
    image: busyboxName,
    imagePullPolicy: "Never",
    command: sleeper,
    ...c,
  });
  return JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 1,
        dnsPolicy: "Default",
        ...spec,
        containers: spec.containers.map(complete),
        ...(spec.initContainers ? { initContainers: spec.initContainers.map(complete) } : {}),
      },
    },
    undefined,
    2,
  );
}

type ContainerInit = { name: string } & Record<string, unknown>;

export interface PodSpecInit extends Record<string, unknown> {
  containers: ContainerInit[];
  initContainers?: ContainerInit[];
}
