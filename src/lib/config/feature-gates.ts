import { type FeatureName, type GateSpec, gateNeeds, gateTable } from "./feature-gate-table.ts";
import type { Problem } from "./problems.ts";

export type { FeatureName } from "./feature-gate-table.ts";

const all: Readonly<Record<string, GateSpec>> = gateTable;
const names = Object.keys(gateTable) as FeatureName[];

/** Which features are on. AllAlpha and AllBeta set every gate of their stage that is not set by name. */
export class FeatureGates {
  readonly #set: ReadonlyMap<string, boolean>;

  constructor(settings: Readonly<Record<string, boolean>> = {}) {
    this.#set = new Map(Object.entries(settings));
  }

  enabled(name: FeatureName): boolean {
    const spec = gateTable[name];
    const own = this.#set.get(name);
    if (own !== undefined) return own;
    if (name === "AllAlpha" || name === "AllBeta") return spec.default;
    const byStage =
      spec.stage === "ALPHA"
        ? this.#set.get("AllAlpha")
        : spec.stage === "BETA"
          ? this.#set.get("AllBeta")
          : undefined;
    return byStage ?? spec.default;
  }

  /** Gates with another value than their default. */
  changed(): string[] {
    return names.filter((name) => this.enabled(name) !== gateTable[name].default);
  }

  /** All gates with their values; GA gates have no stage. */
  list(): { name: string; stage: string; enabled: boolean }[] {
    return names.map((name) => {
      const { stage } = gateTable[name];
      return { name, stage: stage === "GA" ? "" : stage, enabled: this.enabled(name) };
    });
  }

  /** Gates that do not exist, are locked, or need a gate that is off. */
  problems(): Problem[] {
    const problems: Problem[] = [];
    const note = (name: string, message: string) => problems.push({ path: ["featureGates", name], message });
    for (const [name, value] of this.#set) {
      const spec = Object.hasOwn(all, name) ? all[name] : undefined;
      if (!spec) note(name, "is not a known feature gate");
      else if (spec.locked && spec.default !== value) note(name, `is locked to ${spec.default}`);
    }
    if (problems.length > 0) return problems;
    for (const name of names) {
      const off = (gateNeeds[name] ?? []).filter((needed) => !this.enabled(needed));
      if (off.length > 0 && this.enabled(name)) note(name, `is on but needs ${off.join(", ")}, which is off`);
    }
    return problems;
  }

  /** One line for each GA or deprecated gate that was set. */
  warnings(): string[] {
    const lines: string[] = [];
    for (const [name, value] of this.#set) {
      const stage = Object.hasOwn(all, name) ? all[name]?.stage : undefined;
      if (stage === "GA" || stage === "DEPRECATED") {
        lines.push(
          `feature gate ${name}=${value}: the gate is ${stage} and will be removed in a later version`,
        );
      }
    }
    return lines;
  }
}

/** "Name=true|false (STAGE - default=…)" for each gate that can be set, for help texts. */
export function settableGates(): string[] {
  return names
    .filter((name) => !gateTable[name].locked && gateTable[name].stage !== "GA")
    .map((name) => `${name}=true|false (${gateTable[name].stage} - default=${gateTable[name].default})`);
}
