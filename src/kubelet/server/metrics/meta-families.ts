import type { Family } from "./exposition.ts";
import { levelOf, type StabilityLevel } from "./stability-levels.ts";

const meta = ["registered_metrics_total", "disabled_metrics_total", "hidden_metrics_total"];

/** How many metrics are registered. None is deprecated, disabled or hidden here. */
export function metaFamilies(registered: readonly string[]): Family[] {
  const counts = new Map<StabilityLevel, number>();
  for (const name of [...registered, ...meta]) {
    const level = levelOf(name);
    counts.set(level, (counts.get(level) ?? 0) + 1);
  }
  const none = [{ labels: {}, value: 0 }];
  return [
    {
      name: "registered_metrics_total",
      help: "The count of registered metrics broken by stability level and deprecation version.",
      type: "counter",
      samples: [...counts].map(([stability_level, value]) => ({
        labels: { deprecated_version: "", stability_level },
        value,
      })),
    },
    {
      name: "disabled_metrics_total",
      help: "The count of disabled metrics.",
      type: "counter",
      samples: none,
    },
    { name: "hidden_metrics_total", help: "The count of hidden metrics.", type: "counter", samples: none },
  ];
}
