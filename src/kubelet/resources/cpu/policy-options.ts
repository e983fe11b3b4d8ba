import { KubeletError } from "../../../lib/base/errors.ts";
import type { CpuTopology } from "./cpu-topology.ts";

/** cpuManagerPolicyOptions of the static policy. */
export interface StaticPolicyOptions {
  /** A container gets whole cores, or is rejected. */
  readonly fullPcpusOnly: boolean;
  readonly distributeAcrossNuma: boolean;
  readonly alignBySocket: boolean;
  readonly distributeAcrossCores: boolean;
  /** Reserved CPUs are not part of the shared pool either. */
  readonly strictReservation: boolean;
  readonly preferUncoreCache: boolean;
}

const names = {
  "full-pcpus-only": "fullPcpusOnly",
  "distribute-cpus-across-numa": "distributeAcrossNuma",
  "align-by-socket": "alignBySocket",
  "distribute-cpus-across-cores": "distributeAcrossCores",
  "strict-cpu-reservation": "strictReservation",
  "prefer-align-cpus-by-uncorecache": "preferUncoreCache",
} as const satisfies Record<string, keyof StaticPolicyOptions>;

type OptionName = keyof typeof names;

/** Options that need a feature gate; the others are stable. */
const levels: Partial<Record<OptionName, "Alpha" | "Beta">> = {
  "align-by-socket": "Alpha",
  "distribute-cpus-across-cores": "Alpha",
  "distribute-cpus-across-numa": "Beta",
};

const exclusive: readonly (readonly [OptionName, OptionName])[] = [
  ["full-pcpus-only", "distribute-cpus-across-cores"],
  ["distribute-cpus-across-numa", "distribute-cpus-across-cores"],
  ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"],
  ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"],
];

/** The values that the reference kubelet accepts for a boolean. */
const booleans: Readonly<Record<string, boolean>> = Object.fromEntries([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true]),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false]),
]);

const gateOf = { Alpha: "CPUManagerPolicyAlphaOptions", Beta: "CPUManagerPolicyBetaOptions" } as const;

/** Throws for an option that is unknown, not enabled, or in conflict with another option. */
export function staticPolicyOptions(
  configured: Readonly<Record<string, string>>,
  gates: { enabled(name: string): boolean },
): StaticPolicyOptions {
  const options: Record<keyof StaticPolicyOptions, boolean> = {
    fullPcpusOnly: false,
    distributeAcrossNuma: false,
    alignBySocket: false,
    distributeAcrossCores: false,
    strictReservation: false,
    preferUncoreCache: false,
  };
  for (const [name, text] of Object.entries(configured)) {
    if (!isOption(name)) throw invalid(`unknown CPU Manager Policy option: ${JSON.stringify(name)}`);
    const level = levels[name];
    if (level && !gates.enabled(gateOf[level]))
      throw invalid(
        `CPU Manager Policy ${level}-level Options not enabled, but option ${JSON.stringify(name)} provided`,
      );
    const value = Object.hasOwn(booleans, text) ? booleans[text] : undefined;
    if (value === undefined)
      throw invalid(
        `bad value for option ${JSON.stringify(name)}: ${JSON.stringify(text)} is neither "true" nor "false"`,
      );
    options[names[name]] = value;
  }
  for (const [a, b] of exclusive)
    if (options[names[a]] && options[names[b]])
      throw invalid(`static policy options ${a} and ${b} can not be used at the same time`);
  return options;
}

/** Throws if the machine or the topology manager does not support the options. */
export function checkOptions(
  { alignBySocket }: StaticPolicyOptions,
  topology: CpuTopology,
  topologyManagerPolicy: string,
): void {
  if (!alignBySocket) return;
  if (topologyManagerPolicy === "single-numa-node")
    throw invalid(
      "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option",
    );
  if (topology.count("socket") > topology.count("numaNode"))
    throw invalid(
      "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA",
    );
}

function isOption(name: string): name is OptionName {
  return Object.hasOwn(names, name);
}

function invalid(message: string): KubeletError {
  return new KubeletError("InvalidCpuManagerPolicy", `new static policy error: ${message}`);
}
