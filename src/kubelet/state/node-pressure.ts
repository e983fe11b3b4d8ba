export type PressureCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** Which resources of the node are low. Written by the eviction manager only. */
export class NodePressure {
  #conditions: readonly PressureCondition[] = [];
  #cause = "";

  get conditions(): readonly PressureCondition[] {
    return this.#conditions;
  }

  /** Which signals have crossed which thresholds, in one line; "" without pressure. */
  get cause(): string {
    return this.#cause;
  }

  /** True if the conditions have changed. */
  set(conditions: readonly PressureCondition[], cause: string): boolean {
    const before = this.#conditions;
    this.#conditions = conditions;
    this.#cause = cause;
    return conditions.length !== before.length || conditions.some((type) => !before.includes(type));
  }
}
