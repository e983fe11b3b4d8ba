import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import type { BenchCluster } from "./bench-cluster.ts";
import type { KubeletProgram } from "./bench-kubelet.ts";

/** The machine and the versions of a run, for its report. */
export interface Environment {
  readonly date: string;
  readonly machine: string;
  readonly runtime: string;
  readonly api: string;
  /** Other work on the machine makes the figures worse. */
  readonly loadBefore: number;
  readonly kubelets: readonly { readonly name: string; readonly version: string; readonly node?: string }[];
}

export async function environmentOf(
  cluster: BenchCluster,
  kubelets: readonly KubeletProgram[],
): Promise<Environment> {
  const { runtimeName, runtimeVersion } = await cluster.cri.version();
  const memory = Math.round(totalmem() / 1024 ** 3);
  const processor = cpus()[0]?.model.trim() ?? "unknown processor";
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} × ${processor}, ${memory} GiB, ${type()} ${release()}`,
    runtime: `${runtimeName} ${runtimeVersion.replace(/^v|\+unknown$/g, "")}`,
    api: cluster.api.name,
    loadBefore: Number(readFileSync("/proc/loadavg", "utf8").split(" ")[0]),
    kubelets: kubelets.map(({ name, version }, i) => ({
      name,
      version,
      ...(i === 0 && { node: process.version.slice(1) }),
    })),
  };
}

/** One line about a run. */
export function captionOf(environment: Environment, pods: number, rounds: number): string {
  const kubelets = environment.kubelets.map(({ name, version }) => `${name} ${version}`);
  const { loadBefore } = environment;
  const load = loadBefore < 1 ? [] : [`load average ${loadBefore.toFixed(0)} from other work`];
  const runs = rounds === 1 ? "1 round" : `medians of ${rounds} rounds`;
  return [
    `${pods} pods, ${runs}`,
    environment.date,
    environment.machine,
    environment.runtime,
    environment.api,
    ...kubelets,
    ...load,
  ].join("; ");
}
